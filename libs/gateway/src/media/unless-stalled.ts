/** Bytes that go out at once: between two of these pieces also a slow reader takes something in time. */
const pieceBytes = 8 * 1_024;

/** `source`, whose reader is cut off when it takes nothing for `stalledMs`: whoever waits for ever costs a connection. */
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
