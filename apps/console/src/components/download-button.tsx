import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type RequestOptions, send } from '../api/client.js';
import { toRequestError } from '../api/use-query.js';

interface DownloadButtonProps {
  path: string;
  query: RequestOptions['query'];
  fileName: string;
  children: string;
}

/** Saves a response as a file. A plain link would not work: the session counts only with the header that a page sends. */
export function DownloadButton({ path, query, fileName, children }: DownloadButtonProps): JSX.Element {
  const [message, setMessage] = useState('');
  const download = (): void => {
    setMessage('Loading …');
    send(path, { query })
      .then(async (response) => save(await response.blob(), fileName))
      .then(
        () => setMessage(''),
        (error: unknown) => setMessage(toRequestError(error).message),
      );
  };
  return (
    <span class="copy">
      <button type="button" onClick={download}>
        {children}
      </button>
      <span role="status">{message}</span>
    </span>
  );
}

function save(blob: Blob, fileName: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
