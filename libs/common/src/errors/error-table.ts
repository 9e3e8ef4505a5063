/** How the queue handles a job that failed with a code. */
type QueueAction = 'never' | 'same-job' | 'same-job-once';

/** How the ledger handles the reservation of a request that ended with a code. */
type LedgerAction = 'none' | 'release' | 'settle-delivered';

/** One row of the error table. The code determines everything else. */
export interface ErrorTableEntry {
  /** HTTP status of the response; null when the client has disconnected. */
  readonly status: number | null;
  /** `type` of the OpenAI error object. */
  readonly type: string;
  readonly queue: QueueAction;
  readonly ledger: LedgerAction;
  /** Seconds for the `retry-after` header, where a retry can succeed. */
  readonly retryAfterSeconds?: number;
}

const invalid = { type: 'invalid_request_error', queue: 'never', ledger: 'none' } as const;
const server = { type: 'server_error', queue: 'never', ledger: 'release' } as const;

/**
 * Every error code of the project. `DEVICE_LOST` and `JOB_CANCELLED` are internal and never sent to clients.
 * `docs/reference/errors.md` has a row for each.
 */
export const errorTable = {
  INVALID_REQUEST: { status: 400, ...invalid },
  INVALID_MODEL: { status: 400, ...invalid },
  REQUEST_ID_NOT_FOUND: { status: 400, ...invalid },
  INVALID_MANIFEST: { status: 400, ...invalid },
  X402_INVALID_PAYMENT: { status: 400, ...invalid },
  PAYMENT_VERIFICATION_FAILED: { status: 400, ...invalid },
  PAYMENT_SETTLEMENT_FAILED: { status: 400, ...invalid },
  TOO_MANY_TOKENS: { status: 400, ...invalid },
  INVALID_AUDIO_FORMAT: { status: 400, ...invalid },
  INVALID_VIDEO_FORMAT: { status: 400, ...invalid },
  CORRUPTED_IMAGE: { status: 400, ...invalid },
  IMAGE_TOO_SMALL: { status: 400, ...invalid },
  AUTHENTICATION_FAILED: { status: 401, ...invalid, type: 'authentication_error' },
  AUTHENTICATION_FAILED_INACTIVE_KEY: { status: 401, ...invalid, type: 'authentication_error' },
  X402_INVALID_SIGN_IN: { status: 401, ...invalid, type: 'authentication_error' },
  PAYMENT_REQUIRED: { status: 402, ...invalid, type: 'insufficient_quota' },
  INSUFFICIENT_BALANCE: { status: 402, ...invalid, type: 'insufficient_quota' },
  API_KEY_USD_SPEND_LIMIT_EXCEEDED: { status: 402, ...invalid, type: 'insufficient_quota' },
  API_KEY_DIEM_SPEND_LIMIT_EXCEEDED: { status: 402, ...invalid, type: 'insufficient_quota' },
  UNAUTHORIZED: { status: 403, ...invalid, type: 'permission_error' },
  X402_WALLET_MISMATCH: { status: 403, ...invalid, type: 'permission_error' },
  MODEL_NOT_FOUND: { status: 404, ...invalid, type: 'not_found_error' },
  CHARACTER_NOT_FOUND: { status: 404, ...invalid, type: 'not_found_error' },
  NOT_FOUND: { status: 404, ...invalid, type: 'not_found_error' },
  MEDIA_NOT_FOUND: { status: 404, ...invalid, type: 'not_found_error' },
  METHOD_NOT_ALLOWED: { status: 405, ...invalid },
  IDEMPOTENCY_KEY_IN_USE: { status: 409, ...invalid, type: 'conflict_error' },
  IDEMPOTENT_ANSWER_LOST: { status: 409, ...invalid, type: 'conflict_error' },
  PAYMENT_IDENTIFIER_IN_USE: { status: 409, ...invalid, type: 'conflict_error' },
  MODEL_RETIRED: { status: 410, ...invalid, type: 'not_found_error' },
  ENDPOINT_RETIRED: { status: 410, ...invalid, type: 'not_found_error' },
  MEDIA_EXPIRED: { status: 410, ...invalid, type: 'not_found_error' },
  PAYLOAD_TOO_LARGE: { status: 413, ...invalid },
  INVALID_CONTENT_TYPE: { status: 415, ...invalid },
  IMAGE_TOO_LARGE: { status: 422, ...invalid },
  IMAGE_ASPECT_RATIO_OUT_OF_BOUNDS: { status: 422, ...invalid },
  VIDEO_DURATION_TOO_LONG: { status: 422, ...invalid },
  VIDEO_DURATION_TOO_SHORT: { status: 422, ...invalid },
  CONTENT_POLICY_VIOLATION: { status: 422, ...invalid },
  ASR_UPSTREAM_VALIDATION_FAILED: { status: 422, ...invalid },
  RATE_LIMIT_EXCEEDED: { status: 429, ...invalid, type: 'rate_limit_error', retryAfterSeconds: 10 },
  CONCURRENCY_LIMIT_EXCEEDED: { status: 429, ...invalid, type: 'rate_limit_error', retryAfterSeconds: 2 },
  MODEL_AT_CAPACITY: { status: 503, ...server, queue: 'same-job', retryAfterSeconds: 5 },
  MODEL_OFFLINE: { status: 503, ...server, queue: 'same-job', retryAfterSeconds: 30 },
  SERVICE_UNAVAILABLE: { status: 503, ...server, retryAfterSeconds: 5 },
  DEVICE_LOST: { status: 503, ...server, queue: 'same-job-once', retryAfterSeconds: 10 },
  INFERENCE_FAILED: { status: 500, ...server },
  UPSCALE_FAILED: { status: 500, ...server },
  IMAGE_EDIT_ERROR: { status: 500, ...server },
  UNKNOWN_ERROR: { status: 500, ...server },
  ASR_UPSTREAM_FAILED: { status: 502, ...server },
  PAYMENT_FACILITATOR_FAILED: { status: 502, ...server, ledger: 'none' },
  TEE_ATTESTATION_FAILED: { status: 502, ...server },
  TEE_SIGNATURE_FAILED: { status: 502, ...server },
  MODEL_PULL_FAILED: { status: 502, ...server, ledger: 'none' },
  STORAGE_FULL: { status: 507, ...server, ledger: 'none' },
  REQUEST_TIMEOUT: { status: 504, ...server, ledger: 'settle-delivered' },
  JOB_CANCELLED: { status: null, ...server, ledger: 'settle-delivered' },
} as const satisfies Record<string, ErrorTableEntry>;

export type ErrorCode = keyof typeof errorTable;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}

export function errorEntry(code: ErrorCode): ErrorTableEntry {
  return errorTable[code];
}
