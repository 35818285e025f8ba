//! Nodes at a remote: which are there, putting and getting them, each checked by its digest.
