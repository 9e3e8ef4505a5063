import { ApiProperty } from '@nestjs/swagger';

/** The answer of `POST /audio/voices` (contract 6.3). */
export class VoiceResponse {
  @ApiProperty({ type: 'string', description: 'What `voice` of `POST /audio/speech` takes.', example: 'vv_5Tn2…' })
  id!: string;

  @ApiProperty({ type: 'string', description: 'The model it was made with, and the only one that knows it.' })
  model!: string;
}
