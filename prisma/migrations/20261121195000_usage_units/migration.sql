-- What a job used beside tokens: images, characters, seconds of audio.
ALTER TABLE jobs ADD COLUMN usage_units jsonb;
