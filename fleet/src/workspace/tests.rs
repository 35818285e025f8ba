//! Directories of threads: made, kept, made again.
