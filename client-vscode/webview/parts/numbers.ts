// Numbers for people.

/** 1234567 → 1.2M */
export function amount(value: number): string {
  if (value >= 1_000_000) return `${trimmed(value / 1_000_000)}M`;
  if (value >= 10_000) return `${Math.round(value / 1_000)}k`;
  if (value >= 1_000) return `${trimmed(value / 1_000)}k`;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
