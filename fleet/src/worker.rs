//! The loop of a worker: claim, pull, restore the workspace, step, push.
