/** Bytes per write; a slow client still reads this much in time. */
const pieceBytes = 8 * 1_024;

/**
 * Passes `source` on and calls `cutOff` when the client reads nothing for `stalledMs`, since it would occupy its
 * connection forever.
 */
export async function* unlessStalled(
  source: AsyncIterable<Buffer>,
  stalledMs: number,
  cutOff: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const bytes of source) {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      const timer = setTimeout(cutOff, stalledMs);
      try {
        yield bytes.subarray(start, start + pieceBytes);
      } finally {
        clearTimeout(timer);
      }
    }
  }
}
