import { ApiProperty } from '@nestjs/swagger';

/** Response of `POST /video/quote`. */
export class VideoQuoteResponse {
  @ApiProperty({ type: 'number', description: 'In USD.', example: 0.1 })
  quote!: number;
}

/** Response of `POST /video/queue`. */
export class VideoQueueResponse {
  @ApiProperty({ type: 'string', example: 'rife-4.6' })
  model!: string;

  @ApiProperty({ type: 'string', example: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' })
  queue_id!: string;

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Only of models that deliver by link: the URL of the video, valid for 24 hours. It is returned once.',
  })
  download_url?: string;
}

/** The JSON response of `POST /video/retrieve`. */
export class VideoStatusResponse {
  @ApiProperty({ type: 'string', enum: ['PROCESSING', 'COMPLETED'] })
  status!: 'PROCESSING' | 'COMPLETED';

  @ApiProperty({
    type: 'number',
    description: '80th percentile of the run time of the model’s last jobs, in ms; 0 before the first.',
    example: 21_000,
  })
  average_execution_time!: number;

  @ApiProperty({ type: 'number', description: 'How long this job has run, in ms.', example: 8_400 })
  execution_duration!: number;
}

/** Response of `POST /video/complete`. */
export class VideoCompleteResponse {
  @ApiProperty({
    type: 'boolean',
    description: 'False: the job still runs, or its result could not be deleted yet; try again later.',
  })
  success!: boolean;
}

class NeededConsentError {
  @ApiProperty({ type: 'string', enum: ['needs_consent'] })
  code!: 'needs_consent';

  @ApiProperty({ type: 'string' })
  message!: string;
}

class ConsentPolicy {
  @ApiProperty({ type: 'string' })
  consent_version!: string;

  @ApiProperty({ type: 'string' })
  policy_text!: string;
}

/** What may show a person, in the API's words. */
const mediaRoles = ['image', 'end_image', 'reference_image', 'video', 'reference_video'] as const;

/** The 409 of `POST /video/queue` to a client that has not confirmed what the model requires. */
export class NeededConsentResponse {
  @ApiProperty({ type: () => NeededConsentError })
  error!: NeededConsentError;

  @ApiProperty({ type: 'string', enum: ['seedance'] })
  consent_flow!: 'seedance';

  @ApiProperty({ type: 'string', isArray: true, enum: mediaRoles })
  face_media_roles!: (typeof mediaRoles)[number][];

  @ApiProperty({ type: () => ConsentPolicy })
  consent!: ConsentPolicy;

  @ApiProperty({ type: 'string' })
  docs_url!: string;
}

class PolicyFailure {
  @ApiProperty({ type: 'string' })
  message!: string;

  @ApiProperty({ type: 'string', enum: ['provider_content_policy'] })
  type!: 'provider_content_policy';

  @ApiProperty({ type: 'string', required: false })
  recommended_model?: string;

  @ApiProperty({ type: 'boolean' })
  credits_refunded!: boolean;
}

/** The 422 of `POST /video/retrieve` for a job that was refused for its content and not charged. */
export class PolicyFailureResponse {
  @ApiProperty({ type: () => PolicyFailure })
  error!: PolicyFailure;
}
