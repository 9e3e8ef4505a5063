import { ApiProperty } from '@nestjs/swagger';

const optional = { required: false } as const;

class TdxVerification {
  @ApiProperty({ description: 'All of the following hold, and the machine is not in debug mode.' }) valid!: boolean;
  @ApiProperty() signatureValid!: boolean;
  @ApiProperty() certificateChainValid!: boolean;
  @ApiProperty() attestationKeyMatch!: boolean;
  @ApiProperty({ type: String, nullable: true }) error!: string | null;
}

class SevVerification {
  @ApiProperty({ description: 'All of the following hold, and the policy allows no debugging.' }) valid!: boolean;
  @ApiProperty() signatureValid!: boolean;
  @ApiProperty() certificateChainValid!: boolean;
  @ApiProperty({ description: 'The certificate is that of the chip and firmware of the report.' }) chipMatch!: boolean;
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
  @ApiProperty({ ...optional, type: SevVerification }) sev?: SevVerification;
  @ApiProperty({ type: AddressBinding }) signingAddressBinding!: AddressBinding;
  @ApiProperty({ type: NonceBinding }) nonceBinding!: NonceBinding;
  @ApiProperty({ format: 'date-time' }) verifiedAt!: string;
  @ApiProperty() verificationDurationMs!: number;
}

class WorkloadKeys {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Public keys of the model host (docs/guides/tee.md).',
  })
  workload_keyset!: object;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Signature of `signing_key` over `workload_keyset_digest`: `algo` and `value`.',
  })
  keyset_endorsement!: object;
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
  @ApiProperty({ ...optional, description: 'SHA-256 of the canonical form of `signing_key` as an object.' })
  workload_id?: string;
  @ApiProperty({ ...optional, description: 'SHA-256 of the canonical form of `attestation.workload_keyset`.' })
  workload_keyset_digest?: string;
  @ApiProperty({ ...optional, type: WorkloadKeys, description: 'The keys that sign receipts.' })
  attestation?: WorkloadKeys;
  @ApiProperty({ type: ServerVerification }) server_verification!: ServerVerification;
}

class ReceiptEvent {
  @ApiProperty() seq!: number;
  @ApiProperty({ enum: ['request.received', 'response.returned'] }) type!: string;
  @ApiProperty({ ...optional, description: 'Hash of the request as it was received.' }) body_hash?: string;
  @ApiProperty({ ...optional, description: 'Hash of the response as it was sent.' }) wire_hash?: string;
  @ApiProperty({ ...optional, description: 'The same. Absent: the response was encrypted for its client.' })
  cleartext_hash?: string;
}

class ReceiptSignature {
  @ApiProperty({ enum: ['ed25519'] }) algo!: string;
  @ApiProperty({ description: 'Of a key in `receipt_signing_keys` of the attestation.' }) key_id!: string;
  @ApiProperty({ description: '64 bytes as hex, over the canonical form without this member.' }) value!: string;
}

/** A receipt in the public format "aci/1". */
export class TeeReceipt {
  @ApiProperty({ enum: ['aci/1'] }) api_version!: string;
  @ApiProperty() receipt_id!: string;
  @ApiProperty({ description: 'The `id` of the response.' }) chat_id!: string;
  @ApiProperty({ description: 'The model that answered.' }) model!: string;
  @ApiProperty() workload_id!: string;
  @ApiProperty() workload_keyset_digest!: string;
  @ApiProperty({ example: '/api/v1/chat/completions' }) endpoint!: string;
  @ApiProperty({ enum: ['POST'] }) method!: string;
  @ApiProperty({ description: 'When it was signed, in seconds since the epoch.' }) served_at!: number;
  @ApiProperty({ type: [ReceiptEvent] }) event_log!: ReceiptEvent[];
  @ApiProperty({ type: ReceiptSignature }) signature!: ReceiptSignature;
}

export class TeeSignatureResponse {
  @ApiProperty({ description: '`<SHA-256 of the request body>:<SHA-256 of the response body>`.' })
  text!: string;
  @ApiProperty({ description: 'EIP-191 signature of `text`.', example: `0x${'ab'.repeat(64)}1b` }) signature!: string;
  @ApiProperty({ example: `0x${'ab'.repeat(20)}` }) signing_address!: string;
  @ApiProperty({ enum: ['ecdsa'] }) signing_algo!: string;
  @ApiProperty({
    ...optional,
    type: TeeReceipt,
    description: 'The same facts signed by the receipt key of the host, in canonical form (RFC 8785).',
  })
  receipt?: TeeReceipt;
}
