import { ApiProperty } from '@nestjs/swagger';

/** Where the time went, in ms. */
export class ImageTiming {
  @ApiProperty({ type: 'number', description: 'In the model.', example: 4200 })
  inferenceDuration!: number;

  @ApiProperty({ type: 'number', description: 'Before the job was in the queue.', example: 12 })
  inferencePreprocessingTime!: number;

  @ApiProperty({ type: 'number', description: 'Waiting for the model, and on the way.', example: 8 })
  inferenceQueueTime!: number;

  @ApiProperty({ type: 'number', example: 4220 })
  total!: number;
}

/** The JSON answer of `POST /image/generate`. */
export class GenerateImageResponse {
  @ApiProperty({ type: 'string', example: '8f14e45fceea167a-SLC' })
  id!: string;

  @ApiProperty({ type: 'array', items: { type: 'string' }, description: 'Base64.', example: ['UklGRiQA…'] })
  images!: string[];

  @ApiProperty({ type: Object, required: false, nullable: true, description: 'What was used, its `seed` too.' })
  request?: object | null;

  @ApiProperty({ type: () => ImageTiming })
  timing!: ImageTiming;
}

/** The answer of `POST /images/generations`. */
export class SimpleGenerateImageResponse {
  created!: number;
  data!: ({ b64_json: string } | { url: string })[];
}

/** The answer of `GET /image/styles`. */
export class ImageStyleList {
  @ApiProperty({ type: 'string', enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['Watercolor', 'Pencil Sketch'] })
  data!: string[];
}
