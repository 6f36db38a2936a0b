"""Which plan of many? Plans side by side, over lists, fronts, and the least that meets an error."""
