//! Names of variables that a build may want, among those that commands do not see.
//!
//! A guess for people, by the words of a name: nothing is passed on because of it.

use crate::words::Words;

/// Words of names that builds read.
const OF_BUILDS: Words = Words(
    "ARGS BIN CACHE CFLAGS CORES DIR DIRS DIRECTORY ENVIRONMENT FEATURES FLAGS HOME INCLUDE JOBS \
     LDFLAGS LIB LIBS LIBRARY MIRROR OFFLINE OPTIONS OPTS PATH PREFIX PROFILE ROOT SDK SYSROOT TARGET TARGETS THREADS \
     TOOLCHAIN VERSION",
);

/// Words of names that are no build's, whatever else is in them.
const NEVER_OF_BUILDS: Words = Words(
    "ACCESS ACCOUNT ACTIONS API APIKEY AUTH AWS AZURE CERT CERTS CLOUDSDK COOKIE CREDENTIAL \
     CREDENTIALS DOCKER GOOGLE KEY KEYFILE KEYS KEYSTORE KUBE PASS PASSPHRASE PASSWD PASSWORD PASSWORDS PAT PGP \
     PRIVATE RUNTIME SECRET SECRETS SESSION SOCK SOCKET SSH TOKEN TOKENS VAULT WALLET",
);

/// Our own, what would point git elsewhere, and what changes later steps or other programs.
const KEPT_BACK: Words = Words(
    "UWF_HOME OCAS_HOME UWF_STORAGE_ROOT OCAS_DIR GIT_DIR GIT_COMMON_DIR GIT_OBJECT_DIRECTORY \
     GIT_EXEC_PATH GIT_TEMPLATE_DIR GITHUB_PATH CURL_HOME",
);

/// Whether it sounds so.
pub(super) fn sounds_like_a_build_s(name: &str) -> bool {
    let name = name.to_uppercase();
    let has = |words: Words| name.split('_').any(|word| words.contains(word));
    !KEPT_BACK.contains(&name) && has(OF_BUILDS) && !has(NEVER_OF_BUILDS)
}
