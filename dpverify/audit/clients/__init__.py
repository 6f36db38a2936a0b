"""Does what runs on a device send what a manifest says? Any program that answers lines is a target."""
