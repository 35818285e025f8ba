//! Why there are no snapshots of a step.

use uwf_engine::record::Detail;

/// Why nobody knows what the commands of a step changed.
pub(in crate::uwf) fn why_unknown(detail: &Detail) -> String {
    let settings = detail.settings().snapshots;
    match detail.snapshots.as_ref().and_then(|snapshots| snapshots.failed.clone()) {
        Some(failed) => failed,
        None if settings["enabled"] == false => {
            "its run was to keep no snapshots of the workspace (`snapshots.enabled`, --no-snapshots)"
                .to_owned()
        }
        None if settings.is_null() => "its agent kept no snapshots of the workspace".to_owned(),
        None => "its run was begun by a version that kept no snapshots of the workspace".to_owned(),
    }
}
