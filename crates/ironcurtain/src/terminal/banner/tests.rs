//! Tests of the banner.
