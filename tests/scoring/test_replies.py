"""The reply detector: known traps, lists of replies in many styles, properties of any text."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.scoring.replies import Reply, answers_after_declining, classify_reply

TRAPS = {
    "no_output": ["", "  \n\t ", "\u200b\u200d\ufeff", "\u00a0\u2060", "\u00ad"],
    "answer": [
        "I apologize for the confusion, the port is 8080.",
        "Capital expenditure is not disclosed, therefore 0.",
        'The error message says "I cannot find the file".',
        "The log line reads “no information available” and can be ignored.",
        "No, the device does not support Wi-Fi.",
        "It cannot be used outdoors.",
        "The warranty does not cover water damage.",
        "No information is stored on the device.",
        "Batteries are not included.",
        "Support is not available on Sundays.",
        "There is no charge for returns.",
        "The device doesn't need to be registered.",
        "I'm sorry to hear that. Hold the power button for ten seconds to reset the router.",
        "The pump runs at 42 dB. Do you want more?",
        "You can renew the licence online. Let me know if you need anything else!",
        "The pump weighs 12 kg and runs on 230 V. It needs a 16 A fuse and a level floor. "
        "Fill it with two litres of oil before the first start and check the level every month. "
        "The manual does not give the oil's brand.",
        "**Answer:** the limit is `300` requests per minute.",
        "8080",
        "Yes.",
        "Employees get 25 days of leave.",
        "The handbook says that the desk model does not include a battery.",
        "The report states that the company did not provide guidance for 2024.",
        "You would need a permit from the city.",
        "We require a deposit of 200 euros.",
        "If the printer cannot find the network, restart it.",
        "Users who do not know their password can reset it on the login page.",
    ],
    "decline": [
        "To calculate this we would need the balance sheet and the cost of goods sold.",
        "The documents only cover the 2023 model.",
        "There is no mention of a delivery time.",
        "None of the provided passages discuss the price.",
        "The handbook doesn’t say how heavy it is.",
        "The documents don't give the weight; you could consult the manufacturer.",
        "I couldn't find that. If you can provide more details, I can help.",
        "**The provided context does not contain** the _noise level_.",
        "NOT IN DOCUMENTS",
        "**NOT IN DOCUMENTS**",
        "NOT IN DOCUMENTS: the handbook doesn't give the weight.",
        "I’m sorry, but I can’t find that in the files.",
        "I do not know.",
        "I'm sorry, but I can't do that.",
        "- Not specified in the documents.",
        "Unfortunately, the manual says nothing about the weight.",
        'The documents do not mention "delivery time" anywhere.',
    ],
    "hedge": [
        "The documents do not specify the noise, but it is generally 5 dB.",
        "NOT IN DOCUMENTS: the handbook is silent on it. However, it is typically 42 dB.",
        "Although the documents don’t specify the noise, typical pumps run at 42 dB.",
        "I don't have information about the capital in these files. It is Paris.",
    ],
    "ask_back": [
        "Which model are you referring to?",
        "Do you mean the desk model, or something else?",
        "There are several models. Which one are you asking about?",
        "Could you please clarify which model you mean?",
        "Your question is a bit unclear to me. Can you tell me which printer you have?",
    ],
}

# Written before the phrase file was tuned, in the styles of several model families: at first sight
# precision 0.92 and recall 0.96 of declining (0.99 and 1.00 after).
# `a` answer, `d` decline, `h` hedge, `q` ask_back.
HELD_OUT = """
d|The provided context does not contain any information about 3M's capital expenditures for fiscal year 2018.
d|Without the specific financial statements, I cannot calculate the quick ratio for FY2022.
d|As an AI language model, I don't have access to real-time stock prices.
d|To determine the inventory turnover, we need the cost of goods sold and the average inventory. Unfortunately, the excerpt only shows the income statement.
d|It is not possible to determine the dividend payout from the given pages.
d|Based on the information given, the answer cannot be determined.
d|I'm unable to locate the board's vote on that proposal.
d|Sorry, but I can't assist with that request.
d|No data available.
d|The text provided does not give the figures that are needed to work out the operating margin.
d|I apologize, but the passages you supplied make no reference to a restructuring plan.
d|Based on the provided information, there is insufficient detail to compute the effective tax rate. You may wish to consult the company's annual report.
d|Unfortunately, the filing excerpt does not break out revenue by region, so I can't say which region grew fastest.
d|The context does not provide the necessary information to answer this question.
d|The question cannot be answered from the documents.
d|I don't see anything about parental leave in the files you've shared.
d|I could not find any evidence of a merger in the search results.
d|My search of the handbook turned up nothing on parking permits.
d|The documents I have access to don't discuss this topic.
d|Nothing in the manual addresses how to replace the belt.
d|Nowhere in the report is the headcount of the Berlin office stated.
d|The weight of the pump isn't listed in any of the pages I found.
d|That detail is missing from the documentation.
d|The exact figure is not given.
d|The specification sheet is silent on noise levels.
d|Regrettably the information you're looking for is not part of the provided material.
d|The passages discuss the history of the bridge and its design, but they do not say who paid for it.
d|While the document describes the installation of the pump in detail, it doesn't mention how loud it is.
d|Neither of the two documents gives a release date.
d|The article never says how many people attended.
d|I have no information about that.
d|I have no record of a warranty extension for that product in the knowledge base.
d|I'm afraid I don't know.
d|I am not able to verify that claim with the sources at hand.
d|I wasn't able to find the answer in the uploaded documents.
d|We would need to know the average total assets for 2021 and 2022 to compute the return on assets.
d|To answer this question, I would need access to the company's cash flow statement, which was not included.
d|To calculate the DPO for FY2020, you would need accounts payable and the cost of goods sold. These can usually be found in the balance sheet and the income statement.
d|The handbook gives the noise level for the desk model only.
d|The excerpts are limited to the years 2015 through 2018.
d|The manual covers only indoor installation.
d|The available pages deal solely with the pension plan.
d|Unknown.
d|N/A
d|Not mentioned in the documents.
d|Insufficient information.
d|The answer is not in the context.
d|There isn't enough information in the passages to say.
d|There is no information in the text regarding the age of the author.
d|There are no details on shipping costs.
d|No information about the refund policy was found.
d|No relevant documents were found for your question.
d|I searched the documents for "warranty" and "guarantee" but found no relevant passage.
d|The data needed to answer this is not available in the provided tables.
d|Since the balance sheet was not provided, the working capital ratio cannot be computed.
d|I can't give you an exact number, as the report doesn't disclose it.
d|Thank you for your question. Unfortunately the documents provided do not include information on Verizon's debt maturity. I recommend consulting the 10-K directly.
d|Hello! I'm happy to help. However, based on the documents provided, I cannot find information on the CEO's compensation. Could you provide the proxy statement?
d|Great question! Sadly, I don't have that in my sources. If you can share the relevant page, I'd be glad to take another look.
d|The document does not specify this. For accurate information, please contact customer support.
d|It's unclear from the text whether the bridge was rebuilt.
d|It is impossible to tell from these pages how many units were sold.
d|The context lacks details about the battery capacity.
d|The provided documents fail to mention any settlement amount.
d|The lease term is not specified anywhere in the agreement.
d|This information is not publicly disclosed in the documents.
d|The reports don't contain enough data to establish a trend.
d|I do not have enough context to answer.
d|As of my last update, I don't have the figures for FY2023.
d|My knowledge does not extend to that period, so I can't answer.
d|I must decline to answer, since the sources do not support a conclusion.
d|I'd rather not guess: the documents don't say.
d|The pages do not tell us who designed the logo, and I won't speculate.
d|The question asks about the 2021 gross margin. The context contains the income statement for 2019 and 2020. It does not contain figures for 2021. Therefore, the gross margin for 2021 cannot be calculated.
d|Gross margin is calculated as gross profit divided by revenue. The context does not state the cost of sales. Therefore, it is not possible to calculate it.
d|I'm sorry, but as an AI I cannot open external links, so I cannot check the current rate.
d|The retrieved passages are about a different product, the X-100, and do not address the X-200.
d|The provided passages focus on the 1998 election and do not address later ones.
d|Sorry, this isn't covered in the documents I have.
d|The documents do not contain the answer to your question. They do describe how to file a complaint, which may be of interest.
d|There was no mention in the interview of where she was born.
d|I looked through all the pages and none of them says when the office opens.
d|Information on the number of employees is not provided.
d|The user guide does not explain how to do that.
d|I cannot provide a definitive answer, because the necessary information is not present in the context.
d|Unfortunately, I was unable to find specific information on the percentage of women on the board.
d|The company has not disclosed the purchase price.
d|The context only mentions that the company was founded in Ohio, and doesn't say when.
d|The 10-K excerpt given does not list total current liabilities. To work out the ratio, one would need that figure from the consolidated balance sheet.
d|Hmm, I can't seem to find that in here.
d|I don't have specific details on how long the battery lasts.
d|Details of the settlement are not included in the excerpt.
d|The documents make no mention of fees.
d|I am not aware of any information in the documents about that.
d|Your documents don't cover this, I'm afraid.
d|Can't answer that from the documents.
d|No answer found.
d|From the sources provided, one cannot tell whether the fee is refundable.
d|The sources are not sufficient to answer the question.
d|There's nothing here about the colour of the casing.
d|The text mentions a penalty but gives no amount.
d|I can only answer questions about the provided documents, and they do not deal with taxes.
d|The information required to calculate days payable outstanding (accounts payable and cost of goods sold) is absent from the excerpt.
d|Without additional information about depreciation, an accurate calculation is not possible.
d|This question is outside the scope of the documents.
d|Unfortunately, the given context does not provide any details about the company's segments. The segments could be found in the notes to the financial statements.
d|We do not have the data for FY2017 in the provided context to calculate the change.
d|I regret that I have been unable to identify the author from the pages.
d|I was not provided with the text of the amendment, so I can't summarise it.
d|According to the provided context, there is no information about the number of stores in Canada.
d|The document mentions several fees, including the filing fee and the late fee, but doesn't mention the renewal fee.
d|Doesn't say.
d|The retrieved results contain no information on the pump's noise.
a|The capital expenditure for FY2018 was $1,577 million.
a|Yes. The company paid dividends of $2.1 billion in 2021.
a|No. The auditor did not report any material weakness.
a|According to the 10-K, net sales rose 4.2% to $32.8 billion.
a|The quick ratio is 0.96, calculated as (cash + receivables) / current liabilities.
a|To calculate the ratio, we divide 1,200 by 800, which gives 1.5.
a|To reset the router, hold the button for ten seconds and wait for the light to turn green.
a|You need a valid passport and a completed form.
a|The agreement does not allow subletting without written consent.
a|The company does not expect any material impact from the new standard.
a|Employees may not carry over more than five days.
a|The board cannot be dismissed before the end of its term.
a|Refunds are not provided after 30 days.
a|Breakfast is not included in the price.
a|The tool can't be found in stores; it is sold online only.
a|There is no limit on the number of users.
a|There are no fees for early repayment.
a|There is no evidence that the drug shortens the illness.
a|It is not known to be toxic.
a|Passwords are never stored in plain text.
a|The manual says you must not open the casing.
a|The documents state that visitors must sign in at reception.
a|As stated in section 4, the deposit is 500 euros.
a|I found the answer on page 12: the pump weighs 38 kg.
a|Based on the provided context, the main driver of the increase was higher volumes in Asia.
a|The report lists three risks: currency, supply, and regulation.
a|The document mentions that the museum opened in 1911.
a|Sorry for the delay! The office opens at 9 am.
a|You're right, I apologize for my mistake. The correct figure is 17.
a|Unfortunately, the flight was cancelled and passengers had to be rebooked.
a|Unfortunately, no. Gift cards can't be exchanged for cash.
a|The limit is 10 GB. If you need more, please contact support.
a|If the file isn't found, the server answers with status 404.
a|The function returns None when the key is not available.
a|The patient did not report any pain.
a|An unknown device appears in the list; choose it and press Pair.
a|Jane Smith
a|Canberra
a|12 %
a|2019
a|Paris, France, in 1889
a|The guarantee excludes damage caused by frost.
a|Users cannot access the archive without an administrator's approval.
a|You cannot claim the credit if you do not have a social security number.
a|The company was unable to meet its obligations and filed for bankruptcy in 2009.
a|She did not know that the letter had been lost.
a|The researchers could not find a significant difference between the groups.
a|I recommend the desk model, since it is the quieter of the two.
a|Mount the pump on a level floor. Connect the hose. Open the valve slowly.
a|- Install the client\\n- Log in\\n- Select a region
a|The policy covers theft, fire and flood. It does not mention earthquakes.
a|The museum has 40,000 objects, among them paintings by Klee and Marc. It was founded in 1911 and moved twice. The text does not say how many visitors it has.
a|Net income was $5.2 billion in 2021. The 2022 figure is not given in the excerpt.
a|There's no need to register; walk in any weekday between 8 and 12.
a|There's no data limit on this plan.
a|Information about your order is sent by e-mail.
a|Data is not available offline; you need a connection to view it.
a|The standard does not require companies to disclose this amount.
a|No impairment charge was recorded in 2020.
a|The company did not disclose any impairment, so the amount is zero.
a|The answer is (B).
a|None of the employees is a member of a union.
a|The seller must provide information on any known defects.
a|Please note that the service can't be used abroad. Would you like to know about roaming?
a|I think the best choice is the R-200 because it uses less power.
a|The team could not determine the cause of the fire, but the insurance paid in full.
a|His date of birth is unknown.
a|He was sorry to leave and did not have any money.
a|Let me help you with that. First open the settings, then choose Network.
a|The manual recommends a 16 A fuse. It's important to note that local rules may differ.
h|The context does not explicitly give the margin, but from the figures we can compute 520 / 2,122 = 24.5%.
h|The documents don't mention it. In general, such pumps last about ten years.
h|While the provided text doesn't state the population, Berlin has about 3.7 million inhabitants.
h|I couldn't find this in the documents; however, from general knowledge the boiling point of ethanol is 78 °C.
h|The handbook does not say whether dogs are allowed. Usually, offices allow guide dogs at least.
h|There is no direct statement in the text, but it can be inferred that the author was born in Ireland.
h|I don't have specific information on the Mars mission. Nevertheless, the rover was launched in July 2020 and landed seven months later.
h|The report does not provide the ratio directly. Using the balance sheet, current assets are $4,000 million and current liabilities $2,000 million. The current ratio is therefore 2.0.
h|It isn't specified in the guide, though most users choose 8 GB.
h|The documents do not say so explicitly, but the device is probably not waterproof.
q|Could you specify which year you are interested in?
q|Sorry, I'm not sure what you mean. Are you asking about the desk model or the wall model?
q|There are two plans, Basic and Pro. Which one do you have?
q|I'd be happy to help! What product are you asking about?
q|Can you give me a little more detail about the error you see?
q|To help you, I need to know which country you live in. Where are you based?
q|Please clarify which of the two contracts you mean.
q|What do you mean by "it"?
q|Who are you referring to?
q|Your question could refer to several people. Do you mean John Adams or John Quincy Adams?
"""  # noqa: E501

# Five more lists, each written after a round of tuning. Precision and recall of declining at first
# sight: 0.92 and 0.77 (131 replies), 0.77 and 0.77 (109, mostly traps), 0.89 and 0.80 (66), 0.82
# and 0.93 (66), 0.93 and 0.93 (55). Tuning has seen them since: they guard against
# regressions and measure nothing.
LATER = """
d|I apologize, but I don't have access to American Express's financial statements for fiscal year 2022, so I'm unable to calculate the figure you asked for.
d|Without having access to Boeing's 10-K, it's difficult to give a precise answer. However, such information can generally be found in the "Legal Proceedings" section of the filing.
d|To calculate the FY2019 fixed asset turnover ratio for Activision Blizzard, we need two pieces of information: revenue for FY2019 and the average PP&E between FY2018 and FY2019. Unfortunately, the text provided doesn't contain these figures. Therefore, I am unable to compute the ratio.
d|The text does not contain information on 3M's capital intensity in FY2022.
d|Unfortunately, the document does not provide specific information on the geographic regions with the largest drop in revenue in FY2022.
d|The data provided does not include net working capital, so it's impossible to determine whether Corning has positive working capital.
d|Based on the context provided, there is no information about the debt securities registered on a national securities exchange under Best Buy's name.
d|As a language model, I do not have the ability to browse the internet or look up live filings. You can find the requested data on the SEC's EDGAR website.
d|I'm sorry for any inconvenience, but the statement of cash flows wasn't part of the supplied pages, which means I can't calculate the free cash flow conversion.
d|The question cannot be answered with the information given because the balance sheet for 2017 is missing.
d|Thanks for reaching out! The excerpt you gave me covers the risk factors only, so I'm not in a position to comment on quarterly earnings.
d|The unadjusted EBITDA margin would be calculated as (operating income + depreciation and amortization) / revenue. However, the provided excerpts do not include depreciation and amortization from the cash flow statement. As such, the margin cannot be computed.
d|To find the answer, look at the cash flow statement under "Purchases of property, plant and equipment". I don't have that statement here.
d|The exact amount isn't specified in the text.
d|Sorry, I couldn't find anything relevant.
d|The provided evidence does not support any answer to this.
d|The report contains a list of directors but their ages are not given.
d|It isn't stated.
d|I am not privy to that information.
d|Apologies, I have no data for that year.
d|Given the lack of information about the tax rate, I cannot reach a conclusion.
d|None of these sources contain the requested figure.
d|The available documents are about the 2018 season. Nothing about 2021 is in there.
d|I've checked each of the five results and there is nothing on refunds.
d|That topic isn't discussed in the material I was given. Would you like me to search for something else?
d|I'm not finding this in the documents. Could you point me to the right section?
d|Unfortunately this information is not available in the context. It would be best to check the company's investor relations page for up-to-date figures.
d|The passage discusses how the tower was built and later restored. It does not give its height.
d|The document outlines the eligibility criteria for the grant, the application process, and the deadlines. However, it does not specify how much money each applicant receives. For details, applicants are advised to contact the grant office.
d|There is insufficient evidence in the documents to determine whether the trial was stopped.
d|I can't determine the operating margin from this; only gross profit is shown.
d|We cannot tell from the passage.
d|Cannot be determined from the given documents.
d|Answer: not found.
d|The context does not specify how many goals he scored. It only says that he played for Ajax from 1990 to 1995.
d|I don't think the documents answer that.
d|I don't believe this is mentioned anywhere in the handbook.
d|It seems that the provided text doesn't include the relevant table.
d|It appears the documents do not contain this detail, so I am unable to give you a figure.
d|It looks like there is no information on that in the knowledge base.
d|The manual has no section on cleaning the filter.
d|My apologies, however the requested data isn't in any of the documents.
d|Regarding the number of patents: the filing doesn't report it.
d|As for the second question, no figures are reported.
d|The retrieved documents were not relevant to the question.
d|The documents retrieved are unrelated to your question.
d|I only see information on the years 2019-2021, nothing for 2015.
d|No, I couldn't find that information in the documents.
d|No. The documents do not say anything about a refund.
d|Yes, I looked, but there's no mention of it in either contract.
d|While I can see the total revenue of $12.4 billion, the provided excerpt doesn't break it down by country, so I can't tell you the revenue for Japan.
d|Verizon's capital expenditure for 2021 is required to answer this. It isn't included in the excerpt.
d|The answer to this question would require the 2020 balance sheet, which I don't have.
d|One would have to know the average inventory to work this out, and the text doesn't provide it.
d|The model name appears twice in the documents, but its weight does not.
d|This falls outside what the documents cover.
d|I'm designed to answer from the documents only, and this isn't in them.
d|Sadly I have nothing on that.
d|The handbook leaves this open.
d|The sources are mute on the matter.
d|Information regarding the CEO's salary could not be located in the files.
d|The provided snippets don't shed any light on this.
d|There doesn't appear to be any information about parking in the handbook.
d|There does not seem to be a section that covers overtime.
d|I was unable to retrieve any documents that match your question.
d|The total for 2022 has not been disclosed in the provided filing.
d|The context provides the 2020 revenue ($4.1 billion) and the 2021 revenue ($4.6 billion), but not the 2022 revenue.
d|Not enough information to answer.
d|The text does not explicitly mention the reason for the delay.
d|I would need more information to answer this question accurately.
a|Yes, Best Buy's gross margins have historically been fairly consistent, with little variation from year to year.
a|3M's dividend has been stable: the company has increased it for 65 consecutive years.
a|No, AMD's customer concentration did not change materially.
a|The quick ratio is not a relevant metric for American Express because it is a financial institution.
a|There are no debt securities registered under the company's name on a national exchange.
a|American Water Works did not report any restructuring costs, so restructuring costs were $0.
a|Gross margin is not a useful metric for a bank such as JPMorgan.
a|Step 1: total current assets are $14,688 million. Step 2: total current liabilities are $9,523 million. Working capital is therefore $5,165 million, which is positive.
a|To calculate the DPO we use 365 * average accounts payable / (COGS + change in inventory) = 93.86 days.
a|Based on the statement of income, the effective tax rate was 24.6% in FY2022 compared with 21.6% in FY2021.
a|The company's acquisitions mentioned in the filing include Redbreast and Bare Anatomy.
a|The main reason is the decline in demand for PCs. The report does not break this down further.
a|The fine is 40 euros. I could not find whether it is reduced for students.
a|Children under six are not allowed on the ride.
a|The app doesn't store your location data.
a|You don't have to provide any information about your employer.
a|The form does not need to be signed.
a|The lease does not include heating costs.
a|The museum is not open on Mondays, and tickets can't be bought online.
a|She could not have known about the letter.
a|The device will not start if the battery is missing.
a|A missing file causes error 17. Copy the file from the backup.
a|If you cannot access your account, contact support at 555-0100.
a|The law does not specify a minimum age, so children of any age may apply.
a|I'm sorry, but you can't get a refund after 14 days.
a|I'm afraid the shop closes at 6 pm.
a|Unfortunately, pets are not allowed in the building.
a|The committee was unable to agree on a chair, so the vote was postponed.
a|It is not possible to change the booking after payment.
a|It's impossible to open the lid while the drum is turning.
a|The cause of the disease is unknown, but genetics play a role.
a|The document is not valid without a signature.
a|The report was not published until 1998.
a|Files are not deleted; they are moved to the archive.
a|The manual does not recommend using bleach.
a|The handbook does not allow remote work from abroad.
a|Guests may not bring their own food.
a|No documents are required for children under 12.
a|No references are needed for the application.
a|You will not receive a confirmation by mail.
a|In short: the pump is quiet, cheap and easy to fit, and none of its rivals comes close.
a|Dogs are allowed on a lead.
a|I can confirm that the fee is 30 euros.
a|I don't recommend the older model; it is louder and less efficient.
a|The letter was found in 1987 in an attic in Lyon.
a|He said he didn't know the answer.
a|I have found two relevant passages: the first sets the limit at 20, the second raises it to 25.
a|The text says it is unclear who fired first.
a|The information is encrypted and can't be read by third parties.
a|The record was not broken until 2009, when Bolt ran 9.58 s.
h|The exact ratio isn't provided, but it can be calculated from the figures: 4,660 / 2,330 = 2.0.
h|The passage does not mention her nationality. She was most likely Polish, given her surname.
h|I could not find the year in the documents, but I recall it being 1969.
h|This isn't covered in the handbook. As a rule of thumb, plan for two weeks.
h|Although not stated in the text, the capital of Australia is Canberra.
h|No specific number is mentioned. Still, the pictures suggest around twenty.
q|Which fiscal year are you asking about?
q|Do you want the figure for 2021 or 2022? Please specify.
q|Could you rephrase the question?
q|I'm not sure which contract you mean. Could you tell me its number?
q|Several products match. Can you tell me the model number?
d|Based on the information provided in the context, I cannot provide an accurate answer to your question. The context mentions that the company's net sales increased by 2% in 2022, but it doesn't provide the operating income needed for the calculation. To determine the margin, you would need to review the income statement.
d|To determine if 3M is a capital-intensive business, we would need to look at its ratio of capital expenditures to total revenue and its fixed assets relative to total assets. A high ratio would indicate capital intensity. This information is usually included in the company's annual report.
d|I'm an AI language model and my training data only goes up until 2021, therefore I can't provide information on FY2022.
d|The return on assets (ROA) is a financial ratio that indicates how profitable a company is in relation to its total assets. It's calculated by dividing net income by average total assets. However, the provided text does not give net income or total assets, hence it's not possible to calculate ROA.
d|The average FY2016 capex as a % of revenue can be calculated by dividing capital expenditures by revenue. Unfortunately, there isn't enough information in the documents given to perform this calculation.
d|Thank you for providing the context! Unfortunately, I cannot find the information about the company's gross margin in it. The text covers the company's risk factors, strategy, and employees. Please provide more details so that I can help you better.
d|I do not have enough information in the provided context to determine Amcor's real change in sales. The context gives sales figures but does not mention the effect of exchange rates or acquisitions. Without those details, I cannot isolate the organic change.
d|Unfortunately I do not have the necessary financial data to calculate AES Corporation's inventory turnover ratio for FY2022. The 10-K extract provided does not contain the cost of sales and inventory values that would be required to compute this ratio.
d|I apologize, upon reviewing the provided context I do not see any information about the CFO's tenure. The passages focus on segment results. Please let me know if you have any other questions!
d|The quarterly report does not appear to list the number of stores at the end of Q2.
d|After reviewing the excerpt, I don't see a breakdown of operating expenses, so I don't have a basis for answering.
d|Hi there! Unfortunately that's not something I can answer from these documents. Is there anything else you would like to know?
d|The context information does not mention this directly. Hence, the answer is unknown.
d|The given passage does not say which team won. It only describes the ceremony before the match, where both teams lined up and the anthem was played.
d|I searched for "noise" and "sound level" in the handbook, the data sheet and the price list. None of them states a value for the desk model.
d|The documents provided are the 2019 and 2020 annual reports. The question is about 2023. Neither report covers that year.
d|Unfortunately, the search results do not include a definitive statement about the release date. Some results mention the game's developer and its platforms, but none gives a date.
d|Since the context only includes information up to 2018, I cannot answer questions about 2020.
d|Sorry for the confusion earlier. I went back to the manual and it still doesn't say how often the filter must be changed.
d|The cash conversion cycle is a metric that shows how long it takes a company to convert inventory into cash. The formula is CCC = DIO + DSO - DPO. To calculate it for General Mills, we need the values for each component from the balance sheet and the income statement.
d|I would need to see the balance sheet to answer that. Please upload it.
d|Please provide the relevant financial statements so that I can calculate the ratio.
d|I need the statement of income to calculate this. Could you share it?
d|I cannot answer that.
d|We'd need more details about the contract to say whether the clause applies.
d|The requested information - the number of delegates - doesn't appear in the provided passages.
d|Nope, nothing about that in the docs.
d|This question can't be answered using the provided documents; they relate to a different company.
d|The term "goodwill impairment" doesn't occur in the pages I was given.
d|The author's name does not appear in the text.
d|Her age isn't mentioned, and neither is her profession.
d|1. The documents do not mention the fee.\\n2. The documents do not mention the deadline.
d|**Answer:** The provided documents do not contain this information.\\n\\n**Reasoning:** The pages describe installation and safety. No page deals with the noise level.
d|The documents describe the warranty process, e.g. how to file a claim. They don't say how long the warranty lasts.
d|Unfortunately, I can't provide specific financial details such as the dividend payout ratio of a company for a given year, as this requires up-to-date access to financial databases.
d|I'm sorry, but as an artificial intelligence, I don't have the capability to provide real-time or specific financial data. I recommend checking the latest financial reports for the most accurate information.
d|The exact number of employees in the Lyon office is not something the documents specify.
d|There are no further details on this in the report.
d|The report gives no reason for the delay.
d|The text gives us no way of knowing.
d|The context does not offer a clear answer to this question.
d|It can't be said with certainty from the passages whether the treaty was ratified.
d|From the context, it is not clear who approved the budget.
d|No specific mention of parking fees is made in the brochure.
d|The available information does not let me determine which of the two it was.
d|My documents end in 2020, so I can't say.
d|The excerpts stop before that point in the story.
d|You would have to ask the vendor; the documents don't go into pricing.
a|Based on the provided context, the company's net sales decreased by 3.1% in FY2022. The decrease was mainly due to currency effects. The context does not provide the split by segment.
a|3M's operating margin in FY2022 was 19.1%, down from 20.8%. The decline was driven by litigation costs. It's worth noting that I don't have access to adjusted figures.
a|Yes, it is. Its capital expenditures were 5.1% of revenue, and its return on assets was 12.4%.
a|No, it is not capital-intensive. Fixed assets are only 20% of total assets.
a|The company does not have any preferred stock outstanding.
a|The company has not issued any debt securities since 2019.
a|MGM's interest coverage ratio can't be considered healthy: it was -0.3 in FY2022.
a|Inventory turnover is not meaningful for AES because it is a utility with little inventory.
a|There were no acquisitions in FY2023.
a|The operating cash flow ratio is calculated as cash from operations divided by total current liabilities. For FY2017 it is 0.83.
a|The ratio = 1,500 / 2,000 = 0.75
a|Working capital is negative ($1,561 million), as current liabilities exceed current assets.
a|Net AR was $4,660 million according to the balance sheet.
a|The board did not disclose the reasons for the resignation, citing confidentiality.
a|I apologize for the earlier error. The net PP&E at the end of FY2018 was $8.738 billion.
a|In FY2022, the largest drop in revenue was in Europe. Asia was stable.
a|You cannot, unless the landlord agrees in writing.
a|You don't need a visa for stays under 90 days.
a|It is not included: you must buy the cable separately.
a|The service isn't available in Spain.
a|The game was not released in Europe.
a|Nobody knows where he was buried; tradition says it was under a river bed.
a|The handbook does not require you to give a reason.
a|The witness could not identify the driver.
a|The results show no significant effect of the treatment.
a|Research found no link between the two.
a|The study found no evidence of harm.
a|The report found no wrongdoing.
a|The table shows no change between 2019 and 2020.
a|The section on refunds says that no refunds are given after 30 days.
a|Yes, I can help with that. Open the Settings page and choose Reset.
a|Contact support and give them your serial number; they can unlock the account.
a|Please contact the HR office to request parental leave.
a|You can find the serial number on the back of the device.
a|The form is available on the website under Downloads.
a|Only the administrator can do that.
a|The manual covers installation, maintenance and repair.
a|Chapter 3 describes how to install the pump.
a|The documents describe two ways to reset it: with the button, or in the app.
a|To find your balance, log in and open the Accounts tab.
a|To determine whether you qualify, add up your income from all sources and compare it with the limit in table 2.
a|You will need a 10 mm wrench and a new gasket.
a|I would say the second option is better, as it needs no licence.
a|Neither option is free.
a|The file format does not support transparency.
a|The policy does not cover dental treatment.
a|The plan does not include phone support.
a|This version doesn't provide encryption.
a|The server returns no data when the filter is empty.
a|The name isn't known to have been used before 1800.
a|He refused to answer the question and left.
a|Critics were unable to explain its success.
h|The document doesn't provide a direct answer; however, it states that the pump is certified for bathrooms, which implies that it is splash-proof.
h|There's no specific mention of vegans in the menu description. That said, the lentil soup and the salad contain no animal products.
h|The context does not provide the exact ratio, but we can calculate it from the data given. Current assets are $500 and current liabilities are $250, so the ratio is 2.
h|I don't have access to the document, but the Treaty of Versailles was signed on 28 June 1919.
h|The handbook doesn't say. My best guess would be about 40 dB.
q|I'd need to know which model you have. Is it the desk model or the wall model?
q|What exactly would you like to know about the pump?
q|Which report do you mean: the annual report or the sustainability report?
q|Could you clarify your question? There are several policies that could apply.
d|I'm sorry, I couldn't locate a figure for that in the annual report.
d|Based on the context provided, it is not possible to calculate the cash conversion cycle for Pfizer, as the balance sheet is not included.
d|The context doesn't contain enough information about Nike's supply chain for me to give you an answer.
d|I don't have the exact figures for Johnson & Johnson's FY2021 inventory. To get it, you could look at Note 3 in the 10-K.
d|The dataset stops in 2016, so the 2018 value isn't available to me.
d|Unfortunately, as of my knowledge cutoff in September 2021, I don't have information about events in 2023.
d|The passage only describes how the dam was built. It does not mention how much it cost.
d|There's insufficient information to determine this.
d|I have looked at the pages, but the voltage isn't indicated.
d|None of the retrieved passages is about the X-200.
d|It would be necessary to know the current liabilities in order to compute this ratio; the excerpt does not contain them.
d|This can't be worked out from the documents, since the start date is not given.
d|I'm unable to answer this question since the provided sources make no reference to it. If you have other questions about the handbook, feel free to ask!
d|The text doesn't really go into that.
d|As far as I can see, the handbook has nothing to say about pets.
d|The provided documents lack the details that are required to determine the fee.
d|The document is about leave policy and says nothing on salaries.
d|The context does not reveal the identity of the buyer.
d|Such information is not part of the excerpts. The excerpts cover the company's history (1901-1950), its founders and its early products.
d|I do not have any information on whether the store is open on Sundays. I suggest calling the store directly.
d|The manual mentions a 16 A fuse for the wall model, but nothing about the desk model.
d|The figures for 2020 are absent.
d|Not possible to determine from the documents.
d|I could not verify this from the sources.
d|The provided text is cut off before the relevant section.
d|I won't be able to answer this without the table on page 14, which I don't have.
d|In the documents provided, no reason for the resignation is given.
d|The question is not answerable with the given context.
d|That's not covered by the documents, unfortunately.
d|The number of participants remains unspecified in the documents.
a|The dividend was raised to $1.24 per share. I do not have the exact date of the payment.
a|According to the balance sheet, inventories were $9.1 billion; the report doesn't say how much of this was finished goods.
a|Yes. Customers who do not provide an invoice cannot get a refund.
a|No, you can't. The contract does not permit early termination.
a|The battery isn't removable.
a|Nothing was stolen.
a|The court found that the evidence was not sufficient to convict him.
a|The information desk is on the ground floor.
a|The statement was not signed by the auditor.
a|The report was never finished because the author died in 1871.
a|The data is not shared with third parties.
a|The results are not available until March.
a|The results were not significant.
a|The file cannot be opened because it is encrypted. Ask the sender for the password.
a|There is no answer key in the book; the publisher sells it separately.
a|The table is not included in the delivery.
a|Details are not shared with anyone outside the team.
a|If no information is provided, the default of 30 days applies.
a|When the manual says "not applicable", skip the step.
a|To be eligible, you need two years of residence. There's no age limit.
a|I can't stress enough that you should back up the data first.
a|The author does not mention his wife by name in the novel; he calls her "the Captain".
a|It was neither cheap nor quick: it cost 3 million and took nine years.
a|She was not aware of the change until May.
a|We do not offer refunds on sale items.
a|We don't have a branch in Berlin; the nearest one is in Potsdam.
a|It depends on the model: the desk model has one, the wall model does not.
a|The contract ends on 31 May. After that date no further notice is required.
a|Sales rose in all regions but Europe.
a|The policy doesn't apply to contractors.
h|The handbook doesn't mention contractors. I would assume that the same rules apply to them.
h|The report does not give a total, but adding the three regions gives 4,210.
h|Not stated directly; summing the quarters yields $12.4 billion.
h|While there's no explicit answer in the documents, the battery most likely lasts eight hours.
q|Do you mean the 2019 or the 2020 report?
q|Please specify the model you are asking about.
d|I'm sorry, but the provided context does not include the necessary financial statements for Adobe for FY2015 and FY2016. Therefore, I am unable to calculate the year-over-year change in unadjusted operating income.
d|Unfortunately, the text you provided does not mention any specific drivers of the change in operating margin for 3M in FY2022. I would need additional information in order to answer this question.
d|To determine whether the company's quick ratio is reasonable, one would need to examine the balance sheet. The quick ratio measures a company's ability to meet short-term obligations with its most liquid assets. Generally, a ratio above 1 is considered healthy.
d|I do not have sufficient information in the context to determine which segment dragged down overall growth. The passage only states that sales fell in the Consumer segment but doesn't compare it with the others.
d|The provided information does not mention any new product or service launches in FY2022.
d|Based on the given data, there is no specific information related to the restructuring liability for PepsiCo at the end of Q2 2023.
d|Sorry, as an AI developed by OpenAI, I currently don't have the capability to search databases or the web in real-time, including the SEC's. I would suggest looking directly at the company's filings.
d|The document provided doesn't include the data for the fiscal year 2019, which is needed to calculate the average. So the answer can't be provided.
d|There is not enough information provided to compute the FY2021 effective tax rate.
d|The search did not return any documents that answer this question.
d|I was only able to find the registration fee for adults; the documents don't list one for children.
d|I don't have any data on that, sorry!
d|None of the documents I searched mention a dress code.
d|The handbook doesn't appear to address this situation.
d|I checked the documents but couldn't find an answer to your question about the warranty for the X-200.
d|The provided pages do not contain this information. They mainly describe the assembly of the unit and the safety instructions.
d|It's not mentioned.
d|That's not in the documents.
d|This isn't something the report covers.
d|Unfortunately, no information regarding the board's decision is available in the documents.
d|The source material is silent regarding refunds. Your best option is to contact the seller.
d|The question asks for the CEO's birthplace. The passages mention her education and her career, but not her birthplace.
d|I apologize for the inconvenience, but I cannot provide the information as it is not included in the text.
d|Without knowing the tax rate it's impossible to compute the net amount.
d|I can't say. The minutes record the vote but not who voted how.
d|I found information on annual leave, but nothing on unpaid leave.
d|The context given is insufficient to answer this.
d|The amount isn't disclosed in the report, so I can't tell how much was spent.
d|I am sorry, I have no knowledge of that.
d|No relevant information found in the knowledge base.
a|The operating margin fell by 1.7 percentage points, mainly due to litigation costs and lower volumes.
a|Consumer segment: it shrank by 0.9% organically.
a|Yes, the quick ratio of 0.96 suggests room for improvement, since it is below 1.
a|Corning has positive working capital of $831 million.
a|The fees for adults are 30 euros; children pay nothing.
a|You may carry over up to five days; unused days beyond that are lost.
a|No, employees cannot carry over leave without approval.
a|There isn't a dress code, but shoes must be worn in the workshop.
a|No. Returns aren't accepted once the seal is broken.
a|He never finished the symphony; a pupil completed it in 1792.
a|The vote was unanimous: no member opposed the motion.
a|The unit does not come with a power cable.
a|Unlike the X-100, the X-200 doesn't have a display.
a|The warranty lasts two years but doesn't cover the battery.
a|The driver isn't compatible with Windows 7.
a|The documents require a signature on every page.
a|I found it in the safety chapter: wear gloves and goggles.
a|The exact origin of the name is not known, but it probably comes from the Old Norse word for bay.
a|Historians don't know who built the wall.
a|It is unclear why the tower fell; engineers suspect the foundations.
a|He could not provide proof of residence, so the claim was rejected.
a|Applicants who can't provide a birth certificate may submit a passport instead.
a|The bank will not disclose your data to third parties.
a|The report was withdrawn in 2004 and has not been replaced.
a|There was no answer when the police knocked at the door.
a|Sorry for the long wait. Your order was shipped on Monday and arrives on Thursday.
a|Yes, although the documents don't say how many.
a|The minimum age is 16. The documents do not mention a maximum age.
a|The charger isn't provided with the phone.
a|Under the 2015 rules it wasn't necessary to report the amount.
h|The documents don't explicitly say, but since the pump needs 230 V, it cannot run on a 12 V battery.
h|I couldn't find the exact date. However, the article says that it happened in the spring of 1943.
h|The minutes do not name the chair. It was probably Ms Lee, who chaired the meetings before and after.
q|There are multiple companies named Delta in the documents. Which one do you mean?
q|Are you asking about the desk model or the wall model?
q|I need a bit more detail: which version of the software are you using?
d|The information given does not include details on the company's capital expenditure for FY2018.
d|I'm sorry, but the text you provided doesn't contain specific information on whether Johnson & Johnson's gross margin improved in FY2022. It would be best to review the company's income statement.
d|Unfortunately, without having the actual data from the company's balance sheet and cash flow statement, I'm unable to calculate the FY2020 operating cash flow ratio for you.
d|As an AI, I'm unable to provide real-time data or perform internet searches. For this information, you'd want to refer to the company's most recent 10-Q.
d|I apologize for the confusion, but the context you provided does not contain any information about AMCOR's acquisitions in FY2023. If you could provide me with additional context, I would be happy to help.
d|The days payable outstanding (DPO) ratio is calculated as: (Accounts Payable / Cost of Goods Sold) * 365. However, the average accounts payable and the change in inventory aren't given, so we can't perform the calculation.
d|To calculate the 3 year average of capex as a percentage of revenue, you would need to sum the capex for each year, divide it by the revenue for each year, and average the results. This requires data from the cash flow statements.
d|The given data doesn't state how much the company repurchased.
d|There is no clear indication in the provided text of the primary customers of Boeing as of FY2022.
d|Based on the provided context, it is not clear whether Ulta's merchandise inventory increased because of new brands.
d|The text does not provide specific details about the vote.
d|I cannot give you a definite answer since the evidence in the report is not conclusive on this point.
d|I'm sorry for the inconvenience, but I can't seem to find any information about the roles of these directors in the given context.
d|This specific detail is not available in the information provided. You might want to check with the HR department.
d|Regrettably, I can't help with that, as the manual only deals with older models.
d|The provided excerpts don't specify the amount paid in dividends during 2021. They mention that the board approved a dividend, but no figure is given.
d|It was not possible to find the answer in the documents that were retrieved.
d|The data for this year is not yet available.
d|I currently do not have the FY2023 report, so I am not able to say.
d|The answer cannot be found in the provided documents.
d|No. I have no information on that.
d|The documents contain no answer to that question.
d|Sorry - nothing in my documents covers that.
d|The context doesn't clearly state who owns the patent.
d|There is no direct information available about the company's market share in China.
d|The relevant section seems to be missing from the documents, so I can't confirm the date.
d|I would need the income statement to calculate the interest coverage ratio.
d|Since there's no data on headcount for 2022, the change can't be calculated.
a|Yes, the company's net income increased from $1.2 billion in 2021 to $1.5 billion in 2022.
a|The company's primary customers are airlines and the US government, the latter accounting for 40% of revenue.
a|The board approved a quarterly dividend of $0.51 per share.
a|The registrant does not have any securities registered under Section 12(g).
a|The company does not report gross margin because its costs are mostly interest and provisions.
a|No, there was no material change in the effective tax rate.
a|According to the handbook, you must report an absence before 9 am. If you can't reach your manager, send an email to HR.
a|Based on the table, 42 employees took part. The remaining employees did not respond.
a|The device isn't designed for outdoor use and should not be exposed to rain.
a|It was first published in 1922, although it was not translated until 1950.
a|Tap Forgot password. If you do not receive an email within five minutes, check your spam folder.
a|There is no official dress code, but most employees wear business casual.
a|FY2022 DPO = 365 * 2,100 / 8,300 = 92.3
a|The lawsuit was dismissed because the plaintiff failed to provide sufficient evidence.
a|The company has not paid dividends since 2015.
a|You can't combine the two discounts.
a|The results of the audit have not been published yet, but they are expected in May.
a|The company did not provide guidance for the second half of the year.
a|The instructions do not apply to commercial users.
a|Use the search box if you cannot find what you need.
a|The author states that no records of the meeting survive.
a|The wreck has never been found.
h|The text does not explicitly mention the number of stores, but based on the table, there are 1,355 stores.
h|I do not have access to current prices. As of 2021, the price was about $1,200.
h|The context doesn't directly answer the question, but it does mention that margins fell, which suggests that performance declined.
q|Could you tell me which company you are referring to?
q|Sorry, which "Section 4" do you mean?
"""  # noqa: E501

AFTER_MARKER = {
    False: [
        "",
        "the handbook doesn't give the weight.",
        "the handbook gives noise for the desk model only.",
        "the weight of the desk model",
        "The documents describe the installation of the pump. You could ask the manufacturer.",
        "I searched the handbook and the price list. Neither says anything about the noise.",
        "No page gives the purchase price.",
        "Please contact support.",
        "The manual lists the weight of the mini (12 kg), not of the desk model.",
    ],
    True: [
        "However, it is typically 42 dB.",
        "the handbook is silent. However, it is typically 42 dB.",
        "42 dB",
        "Yes, it is waterproof.",
        "The handbook doesn't say, but the desk model is quieter than the wall model.",
        "It was founded in 1911 by two brothers from Kiel.",
        "The pump weighs 12 kg.",
    ],
}
LETTERS = {"a": "answer", "d": "decline", "h": "hedge", "q": "ask_back"}


def held_out(block: str = HELD_OUT) -> list[tuple[str, str]]:
    lines = [line.split("|", 1) for line in block.strip().splitlines()]
    return [(LETTERS[letter], text.replace("\\n", "\n")) for letter, text in lines]


@pytest.mark.parametrize(
    ("expected", "text"), [(label, text) for label, texts in TRAPS.items() for text in texts]
)
def test_known_traps(expected: str, text: str) -> None:
    assert classify_reply(text) == expected


@pytest.mark.parametrize(
    ("expected", "rest"), [(label, text) for label, texts in AFTER_MARKER.items() for text in texts]
)
def test_answers_after_declining(expected: bool, rest: str) -> None:
    assert answers_after_declining(rest) is expected


@pytest.mark.parametrize("block", [HELD_OUT, LATER], ids=["held_out", "later"])
def test_lists_of_replies(block: str) -> None:
    """Precision and recall of declining 0.9 at least on replies in many styles."""
    rows = held_out(block)
    assert len(rows) >= 150
    counts = Counter((expected, classify_reply(text).value) for expected, text in rows)
    hits = counts["decline", "decline"]
    said = sum(n for (_, got), n in counts.items() if got == "decline")
    real = sum(n for (expected, _), n in counts.items() if expected == "decline")
    right = sum(n for (expected, got), n in counts.items() if expected == got)
    wrong = [(e, classify_reply(t).value, t) for e, t in rows if classify_reply(t) != e]
    assert hits / said >= 0.9, wrong
    assert hits / real >= 0.9, wrong
    assert right / len(rows) >= 0.9, wrong


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_reply(text: str) -> None:
    assert isinstance(classify_reply(text), Reply)
    assert isinstance(answers_after_declining(text), bool)


WORDS = [
    "the",
    "documents",
    "do",
    "not",
    "mention",
    ",",
    "but",
    "however",
    ".",
    "I",
    "cannot",
    "find",
    "information",
    '"',
    "'",
    "“",
    "*",
    "_",
    "`",
    "[",
    "]",
    "(",
    ")",
    "to",
    "calculate",
    "we",
    "would",
    "need",
    "42",
    "%",
    "$",
    "which",
    "one",
    "?",
    "no",
    "none",
    "of",
    "\n",
    "-",
    ":",
    ";",
    "is",
    "not",
    "provided",
]


@given(st.lists(st.sampled_from(WORDS), max_size=120).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_any_order_of_signal_words_gives_a_reply(text: str) -> None:
    assert isinstance(classify_reply(text), Reply)


@pytest.mark.parametrize(
    "unit",
    [
        "the documents do not ", "'", '"', "“", "[", "](", "*", "_", "a", " ", "\n", ".", "not ",
        "however, ", ", but ", "to calculate ", "1,", "no ", "`", "I ", "there is no ", "?", ". A",
        "\u200b", "documents ", "although ", "=", "$", "-", "<", "| ", "a\u0301", "'a ", "not-",
    ],
)  # fmt: skip
def test_long_adversarial_text_finishes(unit: str) -> None:
    text = (unit * (100_000 // len(unit) + 1))[:100_000]
    assert isinstance(classify_reply(text), Reply)
    assert isinstance(answers_after_declining(text), bool)


def test_a_decline_at_the_start_of_a_very_long_reply_is_seen() -> None:
    assert (
        classify_reply("The documents do not say. " + "Please contact support. " * 5000)
        == "decline"
    )


def test_import_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules); import ragevalkit.scoring.replies\n"
        "tops = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(tops - set(sys.stdlib_module_names) - {'ragevalkit'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
