import { once } from 'node:events';
import { Readable, type Duplex } from 'node:stream';
import type pg from 'pg';

/** The part of pg's connection that `COPY` needs; its types lack it. */
interface CopyConnection {
  readonly stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** How pg's client hands messages to a running query. */
interface CopyQuery extends pg.Submittable {
  handleError(error: Error): void;
  handleCommandComplete(message: { text: string }): void;
  handleReadyForQuery(): void;
}

/** Yields the rows of `COPY … TO STDOUT`, one chunk each. Reads no faster than its consumer. */
export function copyOut(client: pg.Client, sql: string): AsyncIterable<Buffer> {
  let connection: CopyConnection | undefined;
  const rows = new Readable({ read: () => connection?.stream.resume() });
  const query: CopyQuery & { handleCopyData(message: { chunk: Buffer }): void } = {
    submit: (query) => {
      connection = query as unknown as CopyConnection;
      connection.query(sql);
    },
    handleCopyData: ({ chunk }) => {
      if (!rows.push(chunk)) connection?.stream.pause();
    },
    handleError: (error) => rows.destroy(error),
    handleCommandComplete: () => rows.push(null),
    handleReadyForQuery: () => undefined,
  };
  client.query(query);
  return rows;
}

/** Sends the rows to `COPY … FROM STDIN`; resolves to their number. */
export async function copyIn(client: pg.Client, sql: string, rows: AsyncIterable<Buffer>): Promise<number> {
  return await new Promise<number>((resolve, reject) => {
    const ended = new AbortController();
    let written = 0;
    let failure: Error | undefined;
    const send = async (connection: CopyConnection): Promise<void> => {
      try {
        for await (const chunk of rows) {
          if (ended.signal.aborted) return;
          connection.sendCopyFromChunk(chunk);
          if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain', { signal: ended.signal });
        }
        connection.endCopyFrom();
      } catch (error) {
        if (ended.signal.aborted) return;
        failure = error as Error;
        connection.sendCopyFail('The rows cannot be read.');
      }
    };
    const query: CopyQuery & { handleCopyInResponse(connection: CopyConnection): void } = {
      submit: (connection) => (connection as unknown as CopyConnection).query(sql),
      handleCopyInResponse: (connection) => void send(connection),
      handleError: (error) => {
        ended.abort();
        reject(failure ?? error);
      },
      handleCommandComplete: ({ text }) => (written = Number(text.split(' ').at(-1))),
      handleReadyForQuery: () => resolve(written),
    };
    client.query(query);
  });
}
