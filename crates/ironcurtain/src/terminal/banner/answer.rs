//! What an answer does: approves, denies, shows what can be granted, grants, shows more.
//!
//! That it is an answer was seen to before; what is answered is what the gate handed out.

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Covered, Offer, Pending, Reply, Request, Terms, Wish};
use ic_home::{Clock as _, SystemClock};
use ic_policy::Decision;
use ic_terminal::Ink;
use ic_types::EscalationId;

use super::keys::{Action, Key};
use super::shown::{Keys, Shown, painted};
use super::{Banner, Place, Undrawn};
use crate::own_policy::always::AlwaysOffer;
use crate::terminal::group::Group;
use crate::terminal::paint::Tone;
use crate::terminal::stage::Row;

impl Banner {
    /// Does what an answer to `group` means.
    pub(crate) fn act(&mut self, word: &str, group: &Group, place: &mut Place<'_>) {
        let Some(shown) = &mut self.shown else { return };
        if shown.has_more() && word.is_empty() {
            shown.turn(self.manner.echo);
            self.undrawn = Some(Undrawn::NextPage);
            return;
        }
        if !shown.wishes.is_empty() {
            let wishes = std::mem::take(&mut shown.wishes);
            return self.chosen(word, wishes, group, place);
        }
        if let Some(offer) = shown.always.take() {
            return self.added(word, &offer, group, place);
        }
        match Key::of(word).map(|key| key.action) {
            Some(Action::Approve) => self.answer(group, &Reply::Approve(None), place),
            Some(Action::Deny) => self.answer(group, &Reply::Deny, place),
            Some(Action::Grant) => self.offer(group, place),
            Some(Action::Always) => self.offer_addition(group, place),
            Some(Action::Details) => self.details(group, place),
            Some(Action::Apart) => self.take_apart(group, place),
            Some(Action::Skip) => self.skip(group, place),
            None => {
                let hint = format!("that is not an answer; {}", self.prompt());
                self.refuse(hint, place);
            }
        }
    }

    /// Shows all of it.
    fn details(&mut self, group: &Group, place: &mut Place<'_>) {
        if matches!(
            self.shown.as_ref().map(|it| &it.keys),
            Some(Keys::Table { has_details: false, .. })
        ) {
            return self.refuse("everything is shown already".to_owned(), place);
        }
        let mut lines = painted(group.lines(View::Full, SystemClock.now()));
        lines.extend(self.since(group));
        let keys = Keys::Table { has_details: false, has_always: self.has_always(group) };
        self.present(shown_of(lines, keys, group));
    }

    /// Shows the calls of a group one by one, in the same order.
    fn take_apart(&mut self, group: &Group, place: &mut Place<'_>) {
        if group.len() == 1 {
            return self.refuse("this is one call".to_owned(), place);
        }
        self.withdraw();
        let ids: Vec<EscalationId> =
            group.all().map(|it| it.request().escalation.clone()).collect();
        for id in ids.iter().rev() {
            self.waiting.push_front(id.clone());
        }
        self.apart.extend(ids);
        self.show_next(place);
    }

    /// Shows the next question, and this one after the others.
    fn skip(&mut self, group: &Group, place: &mut Place<'_>) {
        if self.waiting.is_empty() {
            return self.refuse("nothing else waits".to_owned(), place);
        }
        self.withdraw();
        self.waiting.extend(group.all().map(|it| it.request().escalation.clone()));
        self.show_next(place);
    }

    /// Answers what is shown.
    fn answer(&mut self, group: &Group, reply: &Reply, place: &mut Place<'_>) {
        self.close(place);
        let mut told: Vec<(Tone, String, usize)> = Vec::new();
        for pending in group.all() {
            let (tone, said) = self.settle(pending, reply, place);
            match told.iter_mut().find(|(_, other, _)| *other == said) {
                Some((_, _, count)) => *count += 1,
                None => told.push((tone, said, 1)),
            }
        }
        for (tone, said, count) in told {
            let count = if 1 < count { format!(" ({count} calls)") } else { String::new() };
            place.stage.say(tone, &format!("{said}{count}"));
        }
        self.show_next(place);
    }

    /// Shows what can be granted, and asks for one of it.
    fn offer(&mut self, group: &Group, place: &mut Place<'_>) {
        let offer = match Offer::of_request(group.first().request()) {
            Ok(offer) => offer,
            Err(none) => return self.refuse(format!("nothing can be granted: {none}"), place),
        };
        let Ok(terms) = Terms::new(SystemClock.now(), LIFETIME, None) else { return };
        let wishes: Vec<Wish> = offer.choices().into_iter().map(|it| it.with(terms)).collect();
        let mut lines = match group.len() {
            1 => vec!["Choose a grant; this call is approved with it:".to_owned()],
            _ => vec![format!(
                "Choose a grant; call #{} is approved with it, and so is each of the others that it covers:",
                group.first().number()
            )],
        };
        for (at, wish) in wishes.iter().enumerate() {
            for (n_line, line) in wish.preview().iter().enumerate() {
                let mark = if n_line == 0 { format!("{})", at + 1) } else { String::new() };
                lines.push(format!("  {mark:3} {line}"));
            }
            let Request { escalation, session, .. } = group.first().request();
            if let Some(Covered { covered, of }) = self.earlier.covered(wish, escalation, session) {
                let requests = if of == 1 { "other request" } else { "other requests" };
                lines.push(format!(
                    "      would also have approved {covered} of this session's last {of} {requests}"
                ));
            }
        }
        let numbers: Vec<String> = (1..=wishes.len()).map(|it| it.to_string()).collect();
        let keys = format!("Which one? {}; n goes back", numbers.join(" or "));
        let lines = lines.into_iter().map(|text| Row { ink: Ink::Plain, text }).collect();
        self.close(place);
        self.present(Shown { wishes, ..shown_of(lines, Keys::Choice(keys), group) });
    }

    /// Answers one request, and takes note of it.
    pub(super) fn settle(
        &mut self,
        pending: &Pending,
        reply: &Reply,
        place: &Place<'_>,
    ) -> (Tone, String) {
        let (tone, said) = place.questions.settle(pending, reply);
        let decision = match reply {
            Reply::Approve(_) => Decision::Approved,
            Reply::Deny => Decision::Denied,
        };
        // What was not accepted is no decision of this person's.
        if tone != Tone::Bad {
            self.earlier.answered(pending.request(), decision);
        }
        (tone, said)
    }

    /// Says what a call changes since the last one like it that was answered here.
    pub(super) fn since(&self, group: &Group) -> Vec<Row> {
        let lines = match group.len() {
            1 => self.earlier.changed(group.first().request()),
            _ => Vec::new(),
        };
        lines.into_iter().map(|text| Row { ink: Ink::Emphasis, text }).collect()
    }

    /// Takes the person's choice among the grants.
    fn chosen(&mut self, word: &str, wishes: Vec<Wish>, group: &Group, place: &mut Place<'_>) {
        let number: Option<usize> = word.parse().ok();
        let Some(wish) = number.and_then(|it| wishes.into_iter().nth(it.checked_sub(1)?)) else {
            return self.ask_again("Nothing was granted, and nothing answered.", group, place);
        };
        let first = group.first();
        self.close(place);
        let (tone, said) = self.settle(first, &Reply::Approve(Some(wish)), place);
        place.stage.say(tone, &said);
        self.wait_again(group, &first.request().escalation);
        self.show_next(place);
    }

    /// Shows what *always* would add to the policy, and asks for it.
    fn offer_addition(&mut self, group: &Group, place: &mut Place<'_>) {
        let offer = match self.always.as_ref().map(|it| it.offer(group.first().request())) {
            Some(Ok(offer)) => offer,
            Some(Err(why)) => return self.refuse(format!("always is not possible: {why}"), place),
            None => return self.refuse("always is not offered here".to_owned(), place),
        };
        let lines = offer.lines().into_iter().map(|text| Row { ink: Ink::Plain, text }).collect();
        let keys = Keys::Choice(match group.len() {
            1 => "y adds it and approves the call; n does neither".to_owned(),
            _ => format!(
                "y adds it and approves call #{} alone; n does neither",
                group.first().number()
            ),
        });
        self.close(place);
        self.present(Shown { always: Some(offer), ..shown_of(lines, keys, group) });
    }

    /// Adds to the policy what was shown, and approves the call.
    fn added(&mut self, word: &str, offer: &AlwaysOffer, group: &Group, place: &mut Place<'_>) {
        let Some(always) = self.always.as_ref().filter(|_| word == "y") else {
            return self.ask_again("Nothing was added, and nothing answered.", group, place);
        };
        match always.apply(offer, "confirmed at the question") {
            Ok(said) => {
                let first = group.first();
                self.close(place);
                place.stage.say(Tone::Quiet, &said);
                let (tone, said) = self.settle(first, &Reply::Approve(None), place);
                place.stage.say(tone, &said);
                self.wait_again(group, &first.request().escalation);
                self.show_next(place);
            }
            Err(failure) => self.ask_again(&format!("Nothing was added: {failure}"), group, place),
        }
    }

    /// Puts the question on the screen again in the place of what could be chosen; that answers nothing, so it
    /// may be done at any time.
    pub(crate) fn go_back(&mut self, place: &mut Place<'_>) {
        if !self.is_choosing() {
            return;
        }
        if let Some(group) = self.shown.as_ref().map(|it| it.group.clone()) {
            self.ask_again("Nothing was chosen, and nothing answered.", &group, place);
        }
    }

    /// Puts the calls of `group` on the screen again, after nothing came of it.
    fn ask_again(&mut self, why: &str, group: &Group, place: &mut Place<'_>) {
        self.withdraw();
        place.stage.say(Tone::Question, why);
        let ids = group.all().map(|it| it.request().escalation.clone());
        for id in ids.collect::<Vec<_>>().into_iter().rev() {
            self.waiting.push_front(id);
        }
        self.show_next(place);
    }
}

fn shown_of(lines: Vec<Row>, keys: Keys, group: &Group) -> Shown {
    let (group, wishes) = (group.clone(), Vec::new());
    Shown { group, wishes, always: None, lines, keys, laid: None }
}
