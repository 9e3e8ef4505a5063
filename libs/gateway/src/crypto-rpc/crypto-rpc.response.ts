import { ApiProperty } from '@nestjs/swagger';

export class CryptoRpcNetworksResponse {
  @ApiProperty({
    type: 'string',
    isArray: true,
    description: 'Sorted. A network that the operator has no node of answers 503.',
    example: ['base-mainnet', 'ethereum-mainnet'],
  })
  networks!: string[];
}
