import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { serviceUrl } from '../../api/client.js';
import { CopyButton } from '../../components/copy-button.js';
import { copyAs, type CopyLanguage, copyLanguages } from './copy-as.js';

interface CopyAsPanelProps {
  route: string;
  body: Record<string, unknown>;
}

/** The request as a program that reads the key from the environment. */
export function CopyAsPanel({ route, body }: CopyAsPanelProps): JSX.Element {
  const [language, setLanguage] = useState<CopyLanguage>('curl');
  const code = copyAs(language, { baseUrl: serviceUrl('api/v1'), route, body });
  return (
    <details class="panel">
      <summary>Copy the last request as a program</summary>
      <p class="buttons" role="group" aria-label="Language">
        {(Object.entries(copyLanguages) as [CopyLanguage, string][]).map(([name, title]) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => setLanguage(name)}>
            {title}
          </button>
        ))}
        <CopyButton text={code} />
      </p>
      <pre tabIndex={0}>{code}</pre>
    </details>
  );
}
