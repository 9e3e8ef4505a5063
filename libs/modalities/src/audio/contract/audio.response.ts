import { ApiProperty } from '@nestjs/swagger';

/** The answer of `POST /audio/quote`. */
export class AudioQuoteResponse {
  @ApiProperty({ type: 'number', description: 'In USD.', example: 0.012 })
  quote!: number;
}

/** The answer of `POST /audio/queue`. */
export class AudioQueueResponse {
  @ApiProperty({ type: 'string', example: 'kokoro-82m' })
  model!: string;

  @ApiProperty({ type: 'string', example: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' })
  queue_id!: string;

  @ApiProperty({ type: 'string', enum: ['QUEUED'] })
  status!: 'QUEUED';
}

/** The answer of `POST /audio/retrieve` while the job runs. */
export class AudioStatusResponse {
  @ApiProperty({ type: 'string', enum: ['PROCESSING'] })
  status!: 'PROCESSING';

  @ApiProperty({
    type: 'number',
    description: 'Ms in which four of five of the last runs of the model were done; 0 before there was one.',
    example: 41_000,
  })
  average_execution_time!: number;

  @ApiProperty({ type: 'number', description: 'Ms that this one has run.', example: 8_400 })
  execution_duration!: number;
}

/** The answer of `POST /audio/complete`. */
export class AudioCompleteResponse {
  @ApiProperty({ type: 'boolean', description: 'False: it still runs, or is not deleted yet; try later.' })
  success!: boolean;
}
