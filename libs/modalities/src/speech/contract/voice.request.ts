import { FileField, TextField, type UploadedFile } from '#platform/http';

/** Longest file of a form, in bytes (gap 4). */
export const maxSampleBytes = 25 * 1024 * 1024;

/** The form of `POST /audio/voices` (contract 6.3). */
export class VoiceRequest {
  @FileField({ required: true, description: 'A recording of the voice, in one of the model’s `accepted_formats`.' })
  file!: UploadedFile;

  @TextField({ description: 'A model that clones voices; the default voice model when absent.', maxLength: 256 })
  model?: string;
}
