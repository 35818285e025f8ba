//! Where a thread stands at a remote, and its own variables: compare-and-set, with a fence.
