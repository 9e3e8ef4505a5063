import { utf8ToBytes } from '@noble/hashes/utils';
import { canonicalJson } from './canonical-json.js';

/** What an attested key signs to make a keyset its own. The purpose keeps the signature from meaning anything else. */
export function endorsedBytes(keysetDigest: string): Uint8Array {
  return utf8ToBytes(canonicalJson({ purpose: 'aci.keyset.endorsement.v1', workload_keyset_digest: keysetDigest }));
}
