import { ApiProperty } from '@nestjs/swagger';

/* Responses of the routes for stored responses. */

export class ResponsesItemList {
  @ApiProperty({ type: 'string', enum: ['list'], example: 'list' })
  object!: 'list';

  @ApiProperty({ type: 'array', items: { type: 'object' }, description: 'Items, each with an id.' })
  data!: object[];

  @ApiProperty({ type: 'string', nullable: true })
  first_id!: string | null;

  @ApiProperty({ type: 'string', nullable: true, description: 'As `after`, it leads to the next page.' })
  last_id!: string | null;

  @ApiProperty({ type: 'boolean' })
  has_more!: boolean;
}

export class DeletedResponse {
  @ApiProperty({ type: 'string', example: 'resp_8f3a1b2c4d5e6f70-SLC' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['response'] })
  object!: 'response';

  @ApiProperty({ type: 'boolean', enum: [true] })
  deleted!: true;
}
