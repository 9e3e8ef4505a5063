import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

interface ConfirmButtonProps {
  label: string;
  /** For screen readers, such as `Remove tiny-model`. */
  description: string;
  /** What happens, as a sentence. */
  warning: string;
  isBusy: boolean;
  onConfirm: () => void;
}

/** A button that asks before it acts. */
export function ConfirmButton({ label, description, warning, isBusy, onConfirm }: ConfirmButtonProps): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <button type="button" aria-label={description} disabled={isBusy} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  const confirm = (): void => {
    setAsking(false);
    onConfirm();
  };
  return (
    <span class="confirm">
      {warning}{' '}
      <button type="button" class="danger" onClick={confirm}>
        {label}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </span>
  );
}
