//! Character classes, frozen at one Unicode version.
