"""Source formats: one file each, records in, drafts out."""
