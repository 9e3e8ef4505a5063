import { ChoiceField, TextField } from '#platform/http';

export const videoTranscriptionFormats = ['json', 'text'] as const;

/** The body of `POST /video/transcriptions` (contract 8.4). */
export class VideoTranscriptionRequest {
  @TextField({
    description: 'Public http or https URL of a video or a recording: mp4, mov, webm, or any sound that is uploaded.',
    required: true,
    maxLength: 2_048,
    example: 'https://example.com/talk.mp4',
  })
  url!: string;

  @ChoiceField(videoTranscriptionFormats, { description: 'What the answer is written as.', default: 'json' })
  response_format?: (typeof videoTranscriptionFormats)[number];
}
