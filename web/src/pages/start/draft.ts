// What was typed is kept while this tab is open, so that leaving the page loses nothing.
import { emptyForm, type StartForm } from './form.ts';

const key = 'retinue-start-draft';

export function loadDraft(): StartForm {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Record<string, unknown>>;
    const fields = Object.entries(emptyForm).map(([name, empty]) => {
      const value = kept[name];
      const isValid = Array.isArray(empty)
        ? Array.isArray(value) && value.every((each) => typeof each === 'string')
        : typeof value === 'string';
      return [name, isValid ? value : empty];
    });
    return Object.fromEntries(fields) as StartForm;
  } catch {
    return emptyForm;
  }
}

/** Null forgets it. */
export function saveDraft(form: StartForm | null): void {
  try {
    if (form === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(form));
  } catch {
    // Without storage, or with a draft that is too large for it, nothing is kept.
  }
}
