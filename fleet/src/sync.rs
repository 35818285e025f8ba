//! Push, pull, fetch, clone: which nodes go where, fast-forward or conflict.
