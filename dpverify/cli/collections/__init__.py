"""Commands between users and estimates: collect, release, aggregate."""
