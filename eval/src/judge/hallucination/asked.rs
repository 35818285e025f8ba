//! What a model says of claims that cannot be looked up: one run for each step that claims something, without tools.
//!
//! A verdict that is missing or cannot be read is an error of the judge; that a model cannot tell says nothing of the claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_agent::{Agent, Limits, Provider, Usd};
use uwf_prompts::{CLAIMS_RULES, ClaimsView};
use uwf_store::excerpt;

use super::super::model::{TIME, waited_for};
use super::super::seen::SeenStep;
use super::super::{Bench, Silent};
use crate::EvalError;
use crate::record::ClaimByModel;
use crate::task::ClaimsModel;

/// How much of one call, or of one result, is shown.
const SHOWN: usize = 4_000;
/// How much evidence of a step is shown, in characters.
const MOST: usize = 40_000;
/// Turns of a run: the verdicts, and corrections of them.
const TURNS: u64 = 4;

/// What is said of all claims of a step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Verdicts {
    /// One for each claim
    verdicts: Vec<Verdict>,
}

/// What is said of a claim.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    /// The number of the claim
    claim: usize,
    /// Whether the evidence shows it
    holds: Holds,
    /// Why, in a sentence
    reason: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Holds {
    Yes,
    No,
    Unknown,
}

impl Holds {
    fn as_str(self) -> &'static str {
        match self {
            Holds::Yes => "yes",
            Holds::No => "no",
            Holds::Unknown => "unknown",
        }
    }
}

/// A model that is asked about the claims of one case.
pub(super) struct Asked<'a> {
    bench: &'a Bench<'a>,
    spec: &'a ClaimsModel,
    provider: Provider,
    /// What it has cost so far, in USD.
    pub(super) cost: Option<f64>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(bench: &'a Bench<'a>, spec: &'a ClaimsModel) -> Result<Asked<'a>, Silent> {
        let provider = (bench.judging.provider)(&spec.model).map_err(Silent::Error)?;
        Ok(Asked { bench, spec, provider, cost: None })
    }

    /// A verdict for each claim of a step, in their order.
    pub(super) fn judge(&mut self, step: &SeenStep, claims: &[String]) -> Result<Vec<ClaimByModel>, Silent> {
        let failed = |why: &str, cost| {
            let (model, role) = (&self.spec.model, &step.role);
            let why = format!("{model} gave no verdicts on what {role} claims: {}", excerpt(why, 300));
            Silent::Paid(why, cost)
        };
        let left = self.spec.max_cost.map(|most| most - self.cost.unwrap_or(0.0));
        if left.is_some_and(|left| left <= 0.0) {
            return Err(failed("its budget is spent", self.cost));
        }
        let evidence = evidence(step);
        let view =
            ClaimsView { role: &step.role, asked: &excerpt(&step.asked, SHOWN), evidence: &evidence, claims };
        let prompt = uwf_prompts::claims(&view).map_err(|error| Silent::Error(error.to_string()))?;
        let limits =
            Limits { turns: TURNS, time: Some(TIME), usd: left.map(Usd::dollars), ..Limits::default() };
        let agent = Agent::new(self.provider.clone()).instructions(CLAIMS_RULES).limits(limits);
        let run = waited_for(agent.run::<Verdicts>(&prompt), self.bench.judging.stop);
        let run = run.ok_or(Silent::Broken(EvalError::Stopped))?;
        if let Some(spent) = run.report.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + spent.in_dollars());
        }
        let answer = run.answer.map_err(|error| error.to_string());
        answer.and_then(|said| matched(&said.verdicts, claims)).map_err(|why| failed(&why, self.cost))
    }
}

/// The verdicts in the order of the claims: one for each, and no other.
fn matched(verdicts: &[Verdict], claims: &[String]) -> Result<Vec<ClaimByModel>, String> {
    if let Some(other) = verdicts.iter().find(|verdict| !(1..=claims.len()).contains(&verdict.claim)) {
        return Err(format!("there is no claim {}", other.claim));
    }
    let of = |(at, claim): (usize, &String)| {
        let mut found = verdicts.iter().filter(|verdict| verdict.claim == at + 1);
        match (found.next(), found.next()) {
            (Some(verdict), None) => Ok(ClaimByModel {
                claim: claim.clone(),
                holds: verdict.holds.as_str().to_owned(),
                reason: excerpt(&verdict.reason, SHOWN).into_owned(),
            }),
            (None, _) => Err(format!("claim {} has no verdict", at + 1)),
            (Some(_), Some(_)) => Err(format!("claim {} has two verdicts", at + 1)),
        }
    };
    claims.iter().enumerate().map(of).collect()
}

/// The calls of a step with their results, in order; the earlier ones are left out where there are too many.
fn evidence(step: &SeenStep) -> String {
    let mut parts = Vec::new();
    for turn in &step.turns {
        for call in turn.tool_calls.iter().flatten() {
            let name = call.name.as_deref().unwrap_or_default();
            let args = call.args.as_deref().unwrap_or_default();
            parts.push(format!("[call of {name}] {}", excerpt(args, SHOWN)));
        }
        if turn.role.as_deref() == Some("tool") {
            let content = turn.content.as_deref().unwrap_or_default();
            parts.push(format!("[result] {}", excerpt(content.trim_end(), SHOWN)));
        }
    }
    let mut left = MOST;
    let fits = |part: &&String| {
        let size = part.chars().count();
        let is_in = size <= left;
        left = if is_in { left - size } else { 0 };
        is_in
    };
    let mut shown: Vec<&String> = parts.iter().rev().take_while(fits).collect();
    shown.reverse();
    let dropped = parts.len() - shown.len();
    let mut text = if dropped > 0 {
        format!("[{dropped} earlier calls and results are left out]\n")
    } else {
        String::new()
    };
    for part in shown {
        text += part;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(claim: usize, holds: Holds) -> Verdict {
        Verdict { claim, holds, reason: "so".to_owned() }
    }

    #[test]
    fn every_claim_has_one_verdict() {
        let claims = ["a".to_owned(), "b".to_owned()];
        let said = |verdicts: &[Verdict]| {
            let found = matched(verdicts, &claims)?;
            Ok(found.into_iter().map(|one| (one.claim, one.holds)).collect::<Vec<_>>())
        };
        let (yes, no) = (verdict(1, Holds::Yes), verdict(2, Holds::No));
        let both = [("a".to_owned(), "yes".to_owned()), ("b".to_owned(), "no".to_owned())];
        assert_eq!(said(&[no.clone(), yes.clone()]), Ok::<_, String>(both.to_vec()));
        assert_eq!(said(std::slice::from_ref(&yes)), Err("claim 2 has no verdict".to_owned()));
        assert_eq!(said(&[yes.clone(), no.clone(), no.clone()]), Err("claim 2 has two verdicts".to_owned()));
        assert_eq!(
            said(&[yes.clone(), no.clone(), verdict(3, Holds::Unknown)]),
            Err("there is no claim 3".to_owned())
        );
        assert_eq!(said(&[yes, no, verdict(0, Holds::No)]), Err("there is no claim 0".to_owned()));
    }
}
