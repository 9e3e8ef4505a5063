import { ApiProperty } from '@nestjs/swagger';
import { BooleanMember, ChoiceMember, ObjectsMember, TextMember } from './response-fields.js';

/* Responses of the routes for stored responses. */

export class ResponsesItemList {
  @ChoiceMember(['list'], { example: 'list' }) object!: 'list';
  @ObjectsMember({ description: 'Items, each with an id.' }) data!: object[];
  @TextMember({ nullable: true }) first_id!: string | null;
  @TextMember({ nullable: true, description: 'As `after`, it leads to the next page.' }) last_id!: string | null;
  @BooleanMember() has_more!: boolean;
}

export class DeletedResponse {
  @TextMember({ example: 'resp_8f3a1b2c4d5e6f70-SLC' }) id!: string;
  @ChoiceMember(['response']) object!: 'response';

  @ApiProperty({ type: 'boolean', enum: [true] })
  deleted!: true;
}
