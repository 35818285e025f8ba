//! The lines of a step that is going on, at the remote, so that another machine goes on inside of the step.
