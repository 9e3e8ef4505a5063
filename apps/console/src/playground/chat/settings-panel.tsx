import type { JSX } from 'preact';
import { AreaField, SelectField, TextField } from '../../components/fields.js';
import type { ChatSettings } from './chat-request.js';

interface SettingsPanelProps {
  settings: ChatSettings;
  change: (changes: Partial<ChatSettings>) => void;
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

export function SettingsPanel({ settings, change }: SettingsPanelProps): JSX.Element {
  return (
    <details class="panel">
      <summary>System prompt, sampling, tools</summary>
      <AreaField label="System prompt" value={settings.system} onChange={(system) => change({ system })} />
      <div class="form-row">
        <NumberSetting label="Temperature" value={settings.temperature} name="temperature" change={change} />
        <NumberSetting label="Top p" value={settings.topP} name="topP" change={change} />
        <NumberSetting label="Longest answer" value={settings.maxTokens} name="maxTokens" change={change} />
        <NumberSetting label="Seed" value={settings.seed} name="seed" change={change} />
        <SelectField
          label="Reasoning effort"
          value={settings.reasoningEffort}
          onChange={(reasoningEffort) => change({ reasoningEffort })}
          options={[['', 'Default'], ...efforts.map((effort): [string, string] => [effort, effort])]}
        />
      </div>
      <AreaField
        label="Stop strings"
        value={settings.stop}
        onChange={(stop) => change({ stop })}
        rows={2}
        hint="One per line"
      />
      <AreaField
        label="Tools"
        value={settings.tools}
        onChange={(tools) => change({ tools })}
        isCode
        placeholder='[{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}]'
        hint="A JSON array, as in a request. The playground shows calls and runs none."
      />
      <AreaField
        label="JSON schema"
        value={settings.schema}
        onChange={(schema) => change({ schema })}
        isCode
        placeholder='{"type": "object", "properties": {"city": {"type": "string"}}}'
        hint="The answer then is JSON of this schema."
      />
    </details>
  );
}

interface NumberSettingProps {
  label: string;
  value: string;
  name: keyof ChatSettings;
  change: (changes: Partial<ChatSettings>) => void;
}

function NumberSetting({ label, value, name, change }: NumberSettingProps): JSX.Element {
  return (
    <TextField
      label={label}
      type="number"
      step="any"
      placeholder="Default"
      value={value}
      onChange={(text) => change({ [name]: text })}
    />
  );
}
