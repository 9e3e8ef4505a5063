import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  children: (ids: { id: string; hintId: string | undefined }) => JSX.Element;
}

/** A label, a control and a hint that screen readers read with the control. */
function Field({ label, hint, children }: FieldProps): JSX.Element {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, hintId })}
      {hint !== undefined && (
        <span class="hint" id={hintId}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ComponentChildren;
  type?: 'text' | 'password' | 'date' | 'datetime-local' | 'number' | 'search' | 'url';
  placeholder?: string;
  maxLength?: number;
  min?: number | string;
  max?: number | string;
  step?: number | string;
  isRequired?: boolean;
  autocomplete?: string;
  /** Reports a change when the reader has finished it: with Enter, or when the field loses the focus. */
  isLazy?: boolean;
}

export function TextField({ label, value, onChange, hint, type = 'text', ...rest }: TextFieldProps): JSX.Element {
  const { placeholder, maxLength, min, max, step, isRequired, autocomplete = 'off', isLazy } = rest;
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => (
        <input
          id={id}
          aria-describedby={hintId}
          // Preact declares a union over the types, which a variable does not fit.
          type={type as 'text'}
          value={value}
          placeholder={placeholder}
          maxLength={maxLength}
          min={min}
          max={max}
          step={step}
          required={isRequired}
          autocomplete={autocomplete}
          spellcheck={false}
          onInput={isLazy === true ? undefined : ({ currentTarget }) => onChange(currentTarget.value)}
          onChange={isLazy === true ? ({ currentTarget }) => onChange(currentTarget.value) : undefined}
        />
      )}
    </Field>
  );
}

interface AreaFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ComponentChildren;
  rows?: number;
  placeholder?: string;
  isCode?: boolean;
  onKeyDown?: (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => void;
}

export function AreaField({ label, value, onChange, hint, rows = 3, ...rest }: AreaFieldProps): JSX.Element {
  const { placeholder, isCode, onKeyDown } = rest;
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => (
        <textarea
          id={id}
          aria-describedby={hintId}
          rows={rows}
          class={isCode === true ? 'code' : undefined}
          spellcheck={isCode !== true}
          placeholder={placeholder}
          value={value}
          onKeyDown={onKeyDown}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Values and what the reader sees. */
  options: readonly (readonly [string, string])[];
  hint?: ComponentChildren;
}

export function SelectField({ label, value, onChange, options, hint }: SelectFieldProps): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => (
        <select
          id={id}
          aria-describedby={hintId}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          {options.map(([optionValue, text]) => (
            <option key={optionValue} value={optionValue}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckFieldProps {
  label: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

export function CheckField({ label, isChecked, onChange }: CheckFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field field-check">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <label for={id}>{label}</label>
    </div>
  );
}

interface FileFieldProps {
  label: string;
  /** Absent: any file. */
  accept?: string;
  onChange: (files: File[]) => void;
  hint?: ComponentChildren;
  isMultiple?: boolean;
}

export function FileField({ label, accept, onChange, hint, isMultiple }: FileFieldProps): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => (
        <input
          id={id}
          aria-describedby={hintId}
          type="file"
          accept={accept}
          multiple={isMultiple}
          onChange={({ currentTarget }) => onChange([...(currentTarget.files ?? [])])}
        />
      )}
    </Field>
  );
}
