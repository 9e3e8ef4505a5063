import { FileField, TextField, type UploadedFile } from '#platform/http';

/** Maximum size of an uploaded file, in bytes. */
export const maxSampleBytes = 25 * 1024 * 1024;

/** Form of `POST /audio/voices`. */
export class VoiceRequest {
  @FileField({ required: true, description: 'A recording of the voice, in one of the model’s `accepted_formats`.' })
  file!: UploadedFile;

  @TextField({ description: 'A model that clones voices; the default voice model when absent.', maxLength: 256 })
  model?: string;
}
