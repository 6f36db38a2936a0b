"""The theorems of the sources, as data: these modules compute nothing, so that listing them is quick."""
