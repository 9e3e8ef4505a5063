import type { JSX } from 'preact';
import { SelectField } from '../components/fields.js';
import { type Model, modelOptions } from './models.js';

interface ModelFieldProps {
  models: readonly Model[] | null;
  value: string;
  onChange: (id: string) => void;
}

/** The choice of a model. While there is none, the request leaves the choice to the service. */
export function ModelField({ models, value, onChange }: ModelFieldProps): JSX.Element {
  const options: [string, string][] =
    models === null || models.length === 0
      ? [['', models === null ? 'The default model' : 'None']]
      : modelOptions(models);
  const hint = models?.length === 0 ? 'No model of this kind is served.' : undefined;
  return <SelectField label="Model" value={value} onChange={onChange} options={options} hint={hint} />;
}
