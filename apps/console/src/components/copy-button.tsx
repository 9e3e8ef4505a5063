import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** Copies a text and says so, also to a screen reader. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  const [message, setMessage] = useState('');
  const copy = (): void => {
    const show = (result: string): void => {
      setMessage(result);
      setTimeout(() => setMessage(''), 2000);
    };
    // Browsers offer the clipboard on https and localhost only.
    if (navigator.clipboard === undefined) return show('Select the text to copy it.');
    navigator.clipboard.writeText(text).then(
      () => show('Copied.'),
      () => show('Select the text to copy it.'),
    );
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status">{message}</span>
    </span>
  );
}
