import { ApiProperty } from '@nestjs/swagger';

/** Response of `POST /audio/voices`. */
export class VoiceResponse {
  @ApiProperty({ type: 'string', description: 'What `voice` of `POST /audio/speech` takes.', example: 'vv_5Tn2…' })
  id!: string;

  @ApiProperty({ type: 'string', description: 'The model it was made with, and the only one that can use it.' })
  model!: string;
}
