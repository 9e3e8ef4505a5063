import { ChoiceField, TextField } from '#platform/http';

/* Fields that several items, parts and tools of the Responses API have. */

const statuses = ['completed', 'in_progress', 'incomplete'] as const;

/** The type that an item, a part or a tool names. */
export function TypeField(type: string, of: 'item' | 'part' | 'tool', example?: string): PropertyDecorator {
  return ChoiceField([type], { required: true, description: `Type of the ${of}.`, example });
}

export function IdField({ nullable }: { nullable?: true } = {}): PropertyDecorator {
  return TextField({ nullable, description: 'Id of the item, echoed.' });
}

export function StatusField({
  values,
  nullable,
}: { values?: readonly string[]; nullable?: true } = {}): PropertyDecorator {
  return ChoiceField(values ?? statuses, { nullable, description: 'Status of the item, echoed.' });
}

export function CallIdField(description: string): PropertyDecorator {
  return TextField({ required: true, description, example: 'call_1' });
}

export function NameField(of: 'function' | 'tool', example: string): PropertyDecorator {
  return TextField({ required: true, description: `Name of the ${of}.`, example });
}

export function NamespaceField(of: 'function' | 'tool'): PropertyDecorator {
  return TextField({ nullable: true, description: `Namespace of the ${of}, if it has one.` });
}
