import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { type Evidence, EvidenceError, type EvidenceReader } from './evidence.js';
import type { Machine } from './machine.js';

const socket = '/var/run/dstack.sock';

/** Reads TDX quotes from the agent that dstack runs beside its containers, which have no configfs. */
export class DstackReader implements EvidenceReader {
  readonly provider = 'tdx';

  constructor(private readonly machine: Machine) {}

  async read(reportData: Uint8Array): Promise<Evidence> {
    const body = { report_data: bytesToHex(reportData) };
    const answer = await this.machine.post({ socket, path: '/GetQuote', body }).catch((error: Error) => {
      throw new EvidenceError(`${socket} does not answer: ${error.message}`);
    });
    const { quote, event_log: eventLog } = (answer ?? {}) as { quote?: unknown; event_log?: unknown };
    if (typeof quote !== 'string' || !/^(?:0x)?(?:[0-9a-f]{2})+$/i.test(quote)) {
      throw new EvidenceError(`${socket} returned no quote`);
    }
    return { quote: hexToBytes(quote.replace(/^0x/, '')), ...(typeof eventLog === 'string' && { eventLog }) };
  }
}
