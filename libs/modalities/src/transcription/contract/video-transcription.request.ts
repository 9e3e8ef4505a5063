import { ChoiceField, TextField } from '#platform/http';

export const videoTranscriptionFormats = ['json', 'text'] as const;

/** Body of `POST /video/transcriptions`. */
export class VideoTranscriptionRequest {
  @TextField({
    description: 'Public http or https URL of a video or a recording: mp4, mov, webm, or any sound that is uploaded.',
    required: true,
    maxLength: 2_048,
    example: 'https://example.com/talk.mp4',
  })
  url!: string;

  @ChoiceField(videoTranscriptionFormats, { description: 'Format of the response.', default: 'json' })
  response_format?: (typeof videoTranscriptionFormats)[number];
}
