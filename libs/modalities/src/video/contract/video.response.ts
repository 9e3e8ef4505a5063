import { ApiProperty } from '@nestjs/swagger';

/** The answer of `POST /video/quote`. */
export class VideoQuoteResponse {
  @ApiProperty({ type: 'number', description: 'In USD.', example: 0.1 })
  quote!: number;
}

/** The answer of `POST /video/queue`. */
export class VideoQueueResponse {
  @ApiProperty({ type: 'string', example: 'rife-4.6' })
  model!: string;

  @ApiProperty({ type: 'string', example: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' })
  queue_id!: string;

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Of models that deliver by link: where the video will be, for 24 hours. It is given out once.',
  })
  download_url?: string;
}

/** The JSON answer of `POST /video/retrieve`. */
export class VideoStatusResponse {
  @ApiProperty({ type: 'string', enum: ['PROCESSING', 'COMPLETED'] })
  status!: 'PROCESSING' | 'COMPLETED';

  @ApiProperty({
    type: 'number',
    description: 'Ms in which four of five of the last runs of the model were done; 0 before there was one.',
    example: 21_000,
  })
  average_execution_time!: number;

  @ApiProperty({ type: 'number', description: 'Ms that this one has run.', example: 8_400 })
  execution_duration!: number;
}

/** The answer of `POST /video/complete`. */
export class VideoCompleteResponse {
  @ApiProperty({ type: 'boolean', description: 'False: it still runs, or is not deleted yet; try later.' })
  success!: boolean;
}
