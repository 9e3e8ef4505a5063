import { ApiProperty } from '@nestjs/swagger';

const optional = { required: false } as const;

class TdxVerification {
  @ApiProperty({ description: 'All of the following hold, and the machine is not in debug mode.' }) valid!: boolean;
  @ApiProperty() signatureValid!: boolean;
  @ApiProperty() certificateChainValid!: boolean;
  @ApiProperty() attestationKeyMatch!: boolean;
  @ApiProperty({ type: String, nullable: true }) error!: string | null;
}

class AddressBinding {
  @ApiProperty({ description: 'The evidence holds the address of `signing_key`.' }) bound!: boolean;
  @ApiProperty({ type: String, nullable: true }) reportDataAddress!: string | null;
}

class NonceBinding {
  @ApiProperty({ description: 'The evidence holds the nonce.' }) bound!: boolean;
  @ApiProperty({ enum: ['raw', 'sha256'] }) method!: string;
}

/** What the service found when it read the evidence. Clients check all of it again. */
class ServerVerification {
  @ApiProperty({ ...optional, type: TdxVerification }) tdx?: TdxVerification;
  @ApiProperty({ type: AddressBinding }) signingAddressBinding!: AddressBinding;
  @ApiProperty({ type: NonceBinding }) nonceBinding!: NonceBinding;
  @ApiProperty({ format: 'date-time' }) verifiedAt!: string;
  @ApiProperty() verificationDurationMs!: number;
}

export class TeeAttestationResponse {
  @ApiProperty({ description: 'The evidence holds, as far as the service checks it. Never true for `software`.' })
  verified!: boolean;
  @ApiProperty({ description: 'As given, or made where none was.' }) nonce!: string;
  @ApiProperty({ example: 'stories-15m' }) model!: string;
  @ApiProperty({ enum: ['tdx', 'sev-snp', 'software'] }) tee_provider!: string;
  @ApiProperty({ ...optional, format: 'byte', description: 'TDX quote. Absent: there is none.' }) intel_quote?: string;
  @ApiProperty({ ...optional, format: 'byte', description: 'SEV-SNP report.' }) sev_report?: string;
  @ApiProperty({ ...optional, format: 'byte', description: 'Certificates of the report.' }) sev_certificates?: string;
  @ApiProperty({ ...optional, description: 'Events behind the run-time measurements, as JSON.' }) event_log?: string;
  @ApiProperty({ type: String, nullable: true, description: 'Evidence of the GPUs, as JSON.' })
  nvidia_payload!: string | null;
  @ApiProperty({ description: 'Uncompressed secp256k1 key of the model host.', example: `04${'ab'.repeat(64)}` })
  signing_key!: string;
  @ApiProperty({ description: 'The same.' }) signing_public_key!: string;
  @ApiProperty({ example: `0x${'ab'.repeat(20)}` }) signing_address!: string;
  @ApiProperty({ enum: ['ecdsa'] }) signing_algo!: string;
  @ApiProperty({ type: ServerVerification }) server_verification!: ServerVerification;
}

export class TeeSignatureResponse {
  @ApiProperty({ description: '`<model>:<SHA-256 of the request body>:<SHA-256 of the response body>`.' })
  text!: string;
  @ApiProperty({ description: 'EIP-191 signature of `text`.', example: `0x${'ab'.repeat(64)}1b` }) signature!: string;
  @ApiProperty({ example: `0x${'ab'.repeat(20)}` }) signing_address!: string;
  @ApiProperty({ enum: ['ecdsa'] }) signing_algo!: string;
}
