//! Builds and installations without a network: C, make, Rust, Go, Java, Node, Python.

use std::process::Command;

use super::{Field, PATH, Who, Work, by_everybody, skipped, works, works_with};

const C: &[Work] = &[
    ("compile and run", "gcc", "gcc -O1 -o hello hello.c && test \"$(./hello)\" = hello"),
    (
        "a library",
        "gcc ar",
        "gcc -fPIC -shared -DLIB -o libhello.so hello.c && gcc -c -DLIB hello.c && ar rcs libhello.a hello.o && nm libhello.a",
    ),
    ("make", "make gcc", "make -s all && test -x prog && make -s clean && ! test -e prog"),
    ("make with a job server", "make gcc", "make -sj3 many && test -s done-1 && test -s done-4"),
    ("make below make", "make", "make -sj2 deep && test $(cat deep-out | wc -l) = 2"),
];

const MAKEFILE: &str = "all: prog
prog: hello.c
\tgcc -o $@ $<
clean:
\trm -f prog
many: done-1 done-2 done-3 done-4
done-%:
\tsleep 0.05; echo $* > $@
deep:
\t+$(MAKE) -s deep-1 deep-2
deep-%:
\techo $* >> deep-out
";

#[test]
fn c_is_compiled_and_made() {
    by_everybody(|who| {
        let field = Field::new(who);
        let hello = "#include <stdio.h>\n#ifdef LIB\nint hello(void) { return 1; }\n#else\nint main(void) { puts(\"hello\"); return 0; }\n#endif\n";
        field.site.write("work/hello.c", hello);
        field.site.write("work/Makefile", MAKEFILE);
        works(&field, C, &[]);
    });
}

const RUST: &[Work] = &[
    ("build", "", "CARGO_HOME=$TMPDIR/cargo cargo build --offline -q -j2"),
    ("test", "", "CARGO_HOME=$TMPDIR/cargo cargo test --offline -q --lib"),
    ("run", "", "CARGO_HOME=$TMPDIR/cargo cargo run --offline -q | grep -q 2"),
    ("tree", "", "CARGO_HOME=$TMPDIR/cargo cargo tree --offline | grep -q word"),
    ("in the home", "", "cargo check --offline -q"),
];

/// With a build script, and a dependency from a registry whose crates are here.
#[test]
fn a_crate_is_built_tested_and_run() {
    let rustc = Command::new(env!("CARGO")).args(["--version"]).output();
    if !rustc.is_ok_and(|output| output.status.success()) {
        return skipped("a crate is built", "cargo");
    }
    let field = Field::new(Who::Me);
    for (name, text) in [
        ("Cargo.toml", "[package]\nname = \"small\"\nedition = \"2021\"\n[dependencies]\nword = \"1\"\n"),
        ("build.rs", "fn main() { println!(\"cargo::rustc-env=BUILT=yes\"); }\n"),
        (
            "src/lib.rs",
            "pub fn two() -> u8 { word::one() + 1 }\n#[test]\nfn is_two() { assert_eq!((two(), env!(\"BUILT\")), (2, \"yes\")) }\n",
        ),
        ("src/main.rs", "fn main() { println!(\"{}\", small::two()); }\n"),
        (
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"vendor\"\n",
        ),
        ("vendor/word/Cargo.toml", "[package]\nname = \"word\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"),
        ("vendor/word/.cargo-checksum.json", "{\"files\":{}}"),
        ("vendor/word/src/lib.rs", "pub fn one() -> u8 { 1 }\n"),
    ] {
        field.site.write(&format!("work/{name}"), text);
    }
    let bin = std::path::Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    works_with(&field, RUST, &[("PATH", format!("{bin}:{PATH}"))]);
}

const GO: &[Work] = &[
    ("build", "go", "GOCACHE=$TMPDIR/go GOPATH=$TMPDIR/gopath go build -o prog . && ./prog | grep -q hello"),
    ("test", "go", "GOCACHE=$TMPDIR/go GOPATH=$TMPDIR/gopath go test ./..."),
    ("in the home", "go", "go vet ./..."),
];

#[test]
fn a_go_module_is_built_and_tested() {
    let field = Field::new(Who::Me);
    field.site.write("work/go.mod", "module example.com/small\n\ngo 1.18\n");
    field
        .site
        .write("work/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n");
    field.site.write(
        "work/main_test.go",
        "package main\n\nimport \"testing\"\n\nfunc TestMain(t *testing.M) { t.Run() }\n",
    );
    works(&field, GO, &[]);
}

const JAVA: &[Work] = &[
    ("compile and run", "javac java", "javac -d out Hello.java && java -cp out Hello | grep -q hello"),
    ("pack", "jar java", "jar cfe hello.jar Hello -C out Hello.class && java -jar hello.jar | grep -q hello"),
    ("a source file", "java", "java Hello.java | grep -q hello"),
    ("maven", "mvn", "mvn -o -v | grep -q 'Apache Maven'"),
];

#[test]
fn java_is_compiled_and_run() {
    let field = Field::new(Who::Me);
    field.site.write(
        "work/Hello.java",
        "public class Hello { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> System.out.println(\"hello\")); t.start(); t.join(); } }\n",
    );
    works(&field, JAVA, &[]);
}

const NPM: &[Work] = &[
    (
        "pack",
        "npm",
        "export npm_config_cache=$TMPDIR/npm; cd lib && npm pack -s --pack-destination ..  && test -s ../word-1.0.0.tgz",
    ),
    (
        "install",
        "npm",
        "export npm_config_cache=$TMPDIR/npm; cd app && npm install -s --offline --no-audit ../word-1.0.0.tgz",
    ),
    ("run", "npm node", "export npm_config_cache=$TMPDIR/npm; cd app && npm run -s hello | grep -q hello"),
    ("test", "npm node", "export npm_config_cache=$TMPDIR/npm; cd app && npm test"),
    (
        "install again from the warm cache",
        "npm",
        "export npm_config_cache=$TMPDIR/npm; cd app && rm -rf node_modules && npm ci -s --offline --no-audit && test -f node_modules/word/index.js",
    ),
    (
        "a program of a package",
        "npx",
        "export npm_config_cache=$TMPDIR/npm; cd app && npx --offline --no word-hello | grep -q hello",
    ),
    (
        "in the home",
        "npm",
        "cd app && rm -rf node_modules && npm ci -s --offline --no-audit && npm run -s hello | grep -q hello",
    ),
];

#[test]
fn a_node_package_is_packed_installed_and_run_offline() {
    let field = Field::new(Who::Me);
    for (name, text) in [
        (
            "lib/package.json",
            r#"{"name": "word", "version": "1.0.0", "main": "index.js", "bin": {"word-hello": "hello.js"}}"#,
        ),
        ("lib/index.js", "module.exports = 'hello';\n"),
        ("lib/hello.js", "#!/usr/bin/env node\nconsole.log(require('./index.js'));\n"),
        (
            "app/package.json",
            r#"{"name": "app", "version": "1.0.0", "scripts": {"hello": "node -p \"require('word')\"", "test": "node --test"}}"#,
        ),
        (
            "app/word.test.js",
            "require('node:test')('word', () => { if (require('word') !== 'hello') throw 1; });\n",
        ),
    ] {
        field.site.write(&format!("work/{name}"), text);
    }
    works(&field, NPM, &[]);
}

const PIP: &[Work] = &[
    (
        "an environment",
        "python3",
        "python3 -m venv $TMPDIR/v && $TMPDIR/v/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'",
    ),
    (
        "build and install",
        "python3",
        "$TMPDIR/v/bin/pip -q install --no-index ./lib && $TMPDIR/v/bin/python -c 'import word; assert word.one == 1'",
    ),
    (
        "a wheel",
        "python3",
        "$TMPDIR/v/bin/pip -q wheel --no-index -w wheels ./lib && $TMPDIR/v/bin/pip -q uninstall -y word && $TMPDIR/v/bin/pip -q install --no-index wheels/word-1.0-py3-none-any.whl && $TMPDIR/v/bin/python -m word",
    ),
    (
        "from a directory of wheels",
        "python3",
        "$TMPDIR/v/bin/pip -q install --force-reinstall --no-index --find-links wheels word && $TMPDIR/v/bin/pip check",
    ),
    (
        "editable",
        "python3",
        "cd lib && PYTHONPATH=. $TMPDIR/v/bin/python -m word && $TMPDIR/v/bin/pip list | grep -q word",
    ),
    (
        "in the workspace",
        "python3",
        "python3 -m venv --without-pip .venv && . .venv/bin/activate && python -c 'import sys; assert \".venv\" in sys.prefix'",
    ),
];

/// A backend of its own: those of the world are not here.
const BACKEND: &str = "import zipfile
def build_wheel(directory, settings=None, metadata=None):
    name = 'word-1.0-py3-none-any.whl'
    info = 'word-1.0.dist-info/'
    files = {'word.py': 'one = 1\\n', info + 'METADATA': 'Metadata-Version: 2.1\\nName: word\\nVersion: 1.0\\n',
        info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: here\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    files[info + 'RECORD'] = ''.join(file + ',,\\n' for file in [*files, info + 'RECORD'])
    with zipfile.ZipFile(directory + '/' + name, 'w') as wheel:
        for file, text in files.items(): wheel.writestr(file, text)
    return name
";

#[test]
fn a_python_package_is_built_and_installed_offline() {
    let ensurepip = Command::new("python3").env("PATH", PATH).args(["-c", "import ensurepip, venv"]).output();
    if !ensurepip.is_ok_and(|output| output.status.success()) {
        return skipped("a Python package is installed", "venv and ensurepip");
    }
    let field = Field::new(Who::Me);
    field.site.write("work/lib/word.py", "one = 1\n");
    field.site.write("work/lib/backend.py", BACKEND);
    let project = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n[project]\nname = \"word\"\nversion = \"1.0\"\n";
    field.site.write("work/lib/pyproject.toml", project);
    works(&field, PIP, &[]);
}
