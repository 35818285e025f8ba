//! What programs are shown of a remote.
