import { ApiProperty } from '@nestjs/swagger';

/** Response of `POST /audio/quote`. */
export class AudioQuoteResponse {
  @ApiProperty({ type: 'number', description: 'In USD.', example: 0.012 })
  quote!: number;
}

/** Response of `POST /audio/queue`. */
export class AudioQueueResponse {
  @ApiProperty({ type: 'string', example: 'kokoro-82m' })
  model!: string;

  @ApiProperty({ type: 'string', example: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' })
  queue_id!: string;

  @ApiProperty({ type: 'string', enum: ['QUEUED'] })
  status!: 'QUEUED';
}

/** Response of `POST /audio/retrieve` while the job runs. */
export class AudioStatusResponse {
  @ApiProperty({ type: 'string', enum: ['PROCESSING'] })
  status!: 'PROCESSING';

  @ApiProperty({
    type: 'number',
    description: '80th percentile of the run time of the model’s last jobs, in ms; 0 before the first.',
    example: 41_000,
  })
  average_execution_time!: number;

  @ApiProperty({ type: 'number', description: 'How long this job has run, in ms.', example: 8_400 })
  execution_duration!: number;
}

/** Response of `POST /audio/complete`. */
export class AudioCompleteResponse {
  @ApiProperty({
    type: 'boolean',
    description: 'False: the job still runs, or its result could not be deleted yet; try again later.',
  })
  success!: boolean;
}
