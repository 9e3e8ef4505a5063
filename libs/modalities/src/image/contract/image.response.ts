import { ApiProperty } from '@nestjs/swagger';

/** Where the time went, in ms. */
export class ImageTiming {
  @ApiProperty({ type: 'number', description: 'In the model.', example: 4200 })
  inferenceDuration!: number;

  @ApiProperty({ type: 'number', description: 'Before the job was enqueued.', example: 12 })
  inferencePreprocessingTime!: number;

  @ApiProperty({ type: 'number', description: 'Waiting for the model, and in transit.', example: 8 })
  inferenceQueueTime!: number;

  @ApiProperty({ type: 'number', example: 4220 })
  total!: number;
}

/** The JSON response of `POST /image/generate`. */
export class GenerateImageResponse {
  @ApiProperty({ type: 'string', example: '8f14e45fceea167a-SLC' })
  id!: string;

  @ApiProperty({ type: 'array', items: { type: 'string' }, description: 'Base64.', example: ['UklGRiQA…'] })
  images!: string[];

  @ApiProperty({
    type: Object,
    required: false,
    nullable: true,
    description: 'The effective request, including its `seed`.',
  })
  request?: object | null;

  @ApiProperty({ type: () => ImageTiming })
  timing!: ImageTiming;
}

/** The schema of an object with one text. */
function oneText(name: string) {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
}

/** Response of `POST /images/generations`. */
export class SimpleGenerateImageResponse {
  @ApiProperty({ type: 'integer', example: 1_800_000_000 })
  created!: number;

  @ApiProperty({ type: 'array', items: { anyOf: [oneText('b64_json'), oneText('url')] } })
  data!: ({ b64_json: string } | { url: string })[];
}

/** An event of a streamed `POST /images/generations` or `POST /images/edits`: a complete image. */
export interface ImageCompletedEvent {
  type: 'image_generation.completed' | 'image_edit.completed';
  b64_json: string;
  /** In seconds since 1970. */
  created_at: number;
  /** Of the image, in pixels: `WIDTHxHEIGHT`. */
  size: string;
  quality: 'auto';
  background: 'auto';
  output_format: string;
  usage: {
    input_tokens: number;
    input_tokens_details: { image_tokens: number; text_tokens: number };
    output_tokens: number;
    total_tokens: number;
  };
}

/** Response of `GET /image/styles`. */
export class ImageStyleList {
  @ApiProperty({ type: 'string', enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['Watercolor', 'Pencil Sketch'] })
  data!: string[];
}
