/** Numbers in the sentences of one language: its digits, and the form of the words beside a number. */

export interface Numbers<Category extends Intl.LDMLPluralRule> {
  /** `1234` → `1,234`. */
  count(value: number): string;
  /** The form for this number; `#` in it is the number. */
  plural(value: number, forms: Readonly<Record<Category, string>>): string;
}

/** `Category` names all plural categories of the language. A browser of other years may have one more: it gets `other`. */
export function numbersIn<Category extends Intl.LDMLPluralRule>(
  tag: string,
): Numbers<Category | 'other'> {
  const rules = new Intl.PluralRules(tag);
  const numbers = new Intl.NumberFormat(tag);
  const count = (value: number) => numbers.format(value);
  return {
    count,
    plural: (value, forms) => {
      const form = forms[rules.select(value) as Category] ?? forms.other;
      return form.replace('#', count(value));
    },
  };
}
